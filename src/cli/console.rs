//! The console of a run: what runs now, time left, and a table that grows as tests finish.
//!
//! Results go to standard output (unless JSON was asked for), progress to standard error.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::live_table;
use crate::campaign::Event;
use crate::dataset::LoadEvent;
use crate::model::TestResult;

/// Shows the events of a run.
pub struct Console {
    bar: ProgressBar,
    /// Progress is drawn on a terminal; else told in lines.
    terminal: bool,
    quiet: bool,
    /// Rows of the growing table go to standard output.
    rows_to_stdout: bool,
    color: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    header_shown: bool,
    now: String,
    last_load_line: String,
}

impl Console {
    /// A console; `json` keeps standard output free.
    pub fn new(quiet: bool, json: bool, color: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = ProgressBar::with_draw_target(None, target(terminal));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Console { bar, terminal, quiet, rows_to_stdout: !json && !quiet, color, state: Mutex::default() }
    }

    /// Says something that is no event.
    pub fn note(&self, text: &str) {
        self.line(text);
    }

    /// Ends the progress display.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows one event.
    pub fn show(&self, event: &Event<'_>) {
        match event {
            Event::Step(text) => self.step(text),
            Event::Note(text) => self.line(text),
            Event::Load(event) => self.load(event),
            Event::Loaded(result) => self.line(&live_table::load_line(result)),
            Event::RunStarted { run_id } => self.line(&format!("run {run_id}")),
            Event::TestStarted { selection, jobs, run_left_s, .. } => {
                let now = live_table::running(selection, *jobs);
                self.state().now.clone_from(&now);
                self.message(&now, *run_left_s);
            }
            Event::TestProgress { run_left_s, .. } => {
                let now = self.state().now.clone();
                self.message(&now, *run_left_s);
            }
            Event::TestDone(result) => self.test(result),
            Event::TestFailed { selection, jobs, error } => {
                self.line(&format!("{} failed: {error}", live_table::running(selection, *jobs)));
            }
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn message(&self, now: &str, left_s: f64) {
        self.bar.set_message(format!("{now}, {} left", live_table::time(left_s)));
    }

    fn step(&self, text: &str) {
        self.bar.set_message(text.to_string());
        if !self.terminal {
            self.line(text);
        }
    }

    /// A line of progress on standard error, above the bar.
    fn line(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("{text}"));
        }
    }

    fn load(&self, event: &LoadEvent) {
        let text = live_table::loading(event);
        self.bar.set_message(text.clone());
        let is_progress = matches!(event, LoadEvent::Progress { .. });
        let mut state = self.state();
        if !self.terminal && !is_progress && state.last_load_line != text {
            state.last_load_line.clone_from(&text);
            drop(state);
            self.line(&text);
        }
    }

    fn test(&self, result: &TestResult) {
        let mut lines = Vec::new();
        if !std::mem::replace(&mut self.state().header_shown, true) {
            lines.push(live_table::header());
        }
        lines.push(live_table::row(result, self.color));
        if self.quiet {
            return;
        }
        self.bar.suspend(|| {
            for line in &lines {
                if self.rows_to_stdout { super::out::print(line) } else { eprintln!("{line}") }
            }
        });
    }
}

fn target(terminal: bool) -> ProgressDrawTarget {
    if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}
