//! The console of a run: what runs now, time left, and a table that grows as tests finish.
//!
//! Results go to standard output (unless JSON was asked for), progress to standard error.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use super::context::Context;
use super::ramp_chart::RampChart;
use super::{live_table, out};
use crate::dataset::LoadEvent;
use crate::error::{Error, Result, visible};
use crate::model::{Selection, TestResult};
use crate::run::Event;

/// While it is not known how much there is to do.
const SPINNER: &str = "{spinner} {wide_msg}";
/// Else: how far the run or the load is.
const BAR: &str = "[{bar:20}] {percent:>3} %  {wide_msg}";
/// The spinner turns, the bar is drawn anew.
const TICK: Duration = Duration::from_millis(200);

/// Shows the events of a run.
pub struct Console {
    bar: ProgressBar,
    /// Below the bar, on a terminal: the ramp under way; none if it is not wanted.
    chart: Option<ProgressBar>,
    quiet: bool,
    /// True if progress is drawn on a terminal; else it is printed in lines.
    terminal: bool,
    /// Rows of the growing table go to standard output.
    rows_to_stdout: bool,
    /// Columns of the growing table.
    width: usize,
    color: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    header_shown: bool,
    /// Number and name of the test under way, and what the progress line says of it.
    seq: u32,
    name: String,
    now: String,
    ramp: RampChart,
    /// Estimated length of all tests, in s.
    total_s: f64,
    /// Error for a row that could not be written.
    unwritten: Option<Error>,
}

impl Console {
    /// A console; `json` keeps standard output free.
    pub fn new(context: &Context, json: bool) -> Self {
        let quiet = context.global.quiet;
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let target =
            if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let both = MultiProgress::with_draw_target(target);
        let (bar, chart) = (
            both.add(ProgressBar::new_spinner()),
            terminal.then(|| both.add(ProgressBar::new_spinner())),
        );
        let (width, color) = (context.width(), context.color());
        let console = Console {
            bar,
            chart,
            quiet,
            terminal,
            rows_to_stdout: !json,
            width,
            color,
            state: Mutex::default(),
        };
        console.style(SPINNER);
        if let (Some(chart), Ok(style)) = (&console.chart, ProgressStyle::with_template("{msg}")) {
            chart.set_style(style);
        }
        if terminal {
            console.bar.enable_steady_tick(TICK);
        }
        console
    }

    /// The console without the chart of the ramp, if so wanted.
    pub fn plain(mut self, plain: bool) -> Self {
        self.chart.take_if(|_| plain);
        self
    }

    /// Says something that is not an event.
    pub fn note(&self, text: &str) {
        self.line(text);
    }

    /// Ends the progress display.
    ///
    /// # Errors
    /// If a row of the table could not be written.
    pub fn finish(&self) -> Result<()> {
        self.chart.iter().for_each(ProgressBar::finish_and_clear);
        self.bar.finish_and_clear();
        self.state().unwritten.take().map_or(Ok(()), Err)
    }

    /// Shows one event.
    pub fn show(&self, event: &Event<'_>) {
        match event {
            Event::Step(text) => self.step(text),
            Event::Note(text) => self.line(text),
            Event::LeftBehind(text) => self.tell(text),
            Event::Load(event) => self.load(event),
            Event::Loaded(result) => self.line(&live_table::load_line(result)),
            Event::RunStarted { run_id } => self.line(&format!("run {run_id}")),
            Event::TestStarted { seq, selection, jobs, run_left_s } => {
                self.test_started(*seq, selection, *jobs);
                self.draw_ramp(|ramp| ramp.begin(selection, *jobs));
                self.show_time_left(*run_left_s);
            }
            Event::TestProgress { run_left_s, now, .. } => {
                self.show_time_left(*run_left_s);
                self.draw_ramp(|ramp| ramp.now(now.ops_per_s));
            }
            Event::TestDone(result) => {
                self.test(result);
                self.draw_ramp(|ramp| ramp.done(result));
            }
            Event::TestFailed { jobs, error, .. } => self.show_failure(*jobs, &error.to_string()),
        }
    }

    /// Draws the ramp after a change.
    fn draw_ramp(&self, change: impl FnOnce(&mut RampChart)) {
        let Some(chart) = &self.chart else { return };
        let mut state = self.state();
        change(&mut state.ramp);
        chart.set_message(state.ramp.lines(self.width).join("\n"));
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
    }

    /// A step of unknown length.
    fn step(&self, text: &str) {
        self.style(SPINNER);
        self.bar.set_message(visible(text));
        if !self.terminal {
            self.line(text);
        }
    }

    /// Progress of something: `done` of `total`, in any unit.
    fn progress(&self, done: f64, total: f64, message: String) {
        self.style(BAR);
        self.bar.set_length((total * 1000.0).max(1.0) as u64);
        self.bar.set_position((done * 1000.0).max(0.0) as u64);
        self.bar.set_message(visible(&message));
    }

    fn test_started(&self, seq: u32, selection: &Selection, jobs: u32) {
        let mut state = self.state();
        state.seq = seq;
        state.name = live_table::name(selection);
        state.now = live_table::describe_running(selection, jobs);
    }

    /// The bar of the run, by its seconds.
    fn show_time_left(&self, left_s: f64) {
        let mut state = self.state();
        state.total_s = state.total_s.max(left_s);
        let message = format!("{}, {} left", state.now, live_table::time(left_s));
        self.progress(state.total_s - left_s, state.total_s, message);
    }

    /// A line of progress on standard error, above the bar.
    fn line(&self, text: &str) {
        if !self.quiet {
            self.tell(text);
        }
    }

    /// A line on standard error, above the bar, whether progress is wanted or not.
    fn tell(&self, text: &str) {
        self.bar.suspend(|| out::report(text));
    }

    fn load(&self, event: &LoadEvent) {
        let text = live_table::describe_loading(event);
        match event {
            LoadEvent::Progress { rows_done, rows_total, .. } => {
                self.progress(*rows_done as f64, *rows_total as f64, text);
            }
            LoadEvent::Phase { .. } | LoadEvent::Left { .. } => {
                self.style(SPINNER);
                self.bar.set_message(visible(&text));
            }
            LoadEvent::Reused { .. } | LoadEvent::Resumed { .. } | LoadEvent::Loaded(_) => {
                self.line(&text)
            }
        }
    }

    fn test(&self, result: &TestResult) {
        let row = live_table::row(result, &self.state().name, self.width, self.color);
        self.row(&row);
    }

    fn show_failure(&self, jobs: u32, error: &str) {
        let state = self.state();
        let row = live_table::failed_row(state.seq, &state.name, jobs, self.width);
        drop(state);
        self.row(&row);
        let line = format!("    {error}");
        self.line(&if self.terminal {
            live_table::shorten(&visible(&line), self.width)
        } else {
            line
        });
    }

    /// A row of the growing table, above the bar.
    fn row(&self, row: &str) {
        if self.quiet {
            return;
        }
        let first = !std::mem::replace(&mut self.state().header_shown, true);
        let header = first.then(|| live_table::header(self.width));
        self.bar.suspend(|| {
            for line in header.as_deref().into_iter().chain([row]) {
                if self.rows_to_stdout { self.print(line) } else { out::report_rendered(line) }
            }
        });
    }

    /// A line on standard output. A run does not end because its table cannot be written: that is
    /// said when it is over.
    fn print(&self, line: &str) {
        if let Err(error) = out::print_rendered(line) {
            self.state().unwritten.get_or_insert(error);
        }
    }
}
