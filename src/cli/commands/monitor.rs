//! `monitor`: a database at work, beside what its platform was measured to do.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use rustix::event::{Timespec, poll};

use crate::analysis::figure;
use crate::catalog::Catalog;
use crate::cli::args::{HostArgs, MonitorArgs, PlaceArgs, TargetArgs};
use crate::cli::context::{Context, interrupt};
use crate::cli::monitor_view::{self, RateHistory, Title};
use crate::cli::values::Listen;
use crate::cli::{metrics_server, out, paths, request};
use crate::error::{Error, Result};
use crate::model::{RunRecord, RunStatus, Test};
use crate::monitor::poller::{IntervalSample, Poller, SAMPLE_INTERVAL};
use crate::monitor::recording::{self, Recording, Subject};
use crate::monitor::{live_metrics, open_metrics};
use crate::run::Request;
use crate::store::{self, Store};
use crate::test_runner::Interrupt;

/// Shorter intervals would cost what they show.
const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// Time for which an interval of a recording is shown.
const REPLAY_PACE: Duration = Duration::from_millis(100);
/// Help at the foot of the screen.
const KEYS: &str = "q ends; --record FILE keeps what is shown, --baseline RUN compares";
/// Interval between two checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Watches a server until it is interrupted, or shows a recording.
///
/// # Errors
/// Usage, target, results file.
pub fn monitor(context: &Context, args: &MonitorArgs) -> Result<()> {
    let is_json = context.format(&["text", "json"])? == "json";
    if is_json && !args.once {
        return Err(Error::usage("--format", "one JSON document is one look").advise("add --once"));
    }
    let interrupt = interrupt()?;
    match (&args.replay, &args.target) {
        (Some(run), _) => replay(context, args, run, &interrupt),
        (None, Some(target)) => watch(context, args, target, is_json, &interrupt),
        (None, None) => Err(Error::usage("TARGET", "is missing")
            .advise("give the URL of a server, or --replay RUN")),
    }
}

/// Shows the looks of a recording.
fn replay(context: &Context, args: &MonitorArgs, run: &str, interrupt: &Interrupt) -> Result<()> {
    let (run, tests) = read_run(context, run, true)?;
    let looks = recording::interval_samples(&tests);
    if looks.is_empty() {
        return Err(Error::usage(format!("run {}", run.id), "is not a recording")
            .advise("record with --record FILE"));
    }
    let target = format!("{}, recorded", run.target);
    let title = Title { target, keys: "q ends", ..Title::default() };
    let mut view = View::open(context, args.once, title);
    let looks = if args.once { &looks[looks.len() - 1..] } else { &looks };
    for look in looks {
        view.show(look)?;
        if view.is_screen() && view.wait(REPLAY_PACE, interrupt) || interrupt.is_set() {
            return Ok(());
        }
    }
    // The last one stays until the user ends it.
    while view.is_screen() && !view.wait(POLL_INTERVAL, interrupt) {}
    Ok(())
}

/// A run of the results file, its figures those of every report; its seconds if they are wanted.
fn read_run(context: &Context, run: &str, with_seconds: bool) -> Result<(RunRecord, Vec<Test>)> {
    let store = context.store_to_read()?;
    let run = store.run(run)?;
    let mut tests = if with_seconds { store.tests(run.id)? } else { store.figures(run.id)? };
    figure::estimate(&mut tests);
    Ok((run, tests))
}

fn watch(
    context: &Context,
    args: &MonitorArgs,
    target: &str,
    is_json: bool,
    interrupt: &Interrupt,
) -> Result<()> {
    let catalog = context.catalog()?;
    let mut poller = open_poller(context, &catalog, target, &args.host)?;
    let at = args.once.then(store::now);
    let keys = if args.record.is_some() { "q ends; recording" } else { KEYS };
    let mut title = Title { target: poller.label(), at, against: None, keys };
    if let Some(run) = &args.baseline {
        let (run, tests) = read_run(context, run, false)?;
        poller.compare_with(&catalog, &run, &tests)?;
        title.against = Some(format!("run {}", run.id));
    }
    let metrics = serve_metrics(args, &poller)?;
    let mut recording = args.record.as_ref().map(|_| start_recording(args, &poller)).transpose()?;
    let mut view = if is_json { View::Json } else { View::open(context, args.once, title) };
    let watched = poll_until_end(args, &mut poller, &mut view, interrupt, &mut |look| {
        metrics.iter().for_each(|page| page.set(look));
        recording.as_mut().map_or(Ok(()), |recording| recording.add(look))
    });
    drop(view);
    let status = if watched.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    let ended = recording.map_or(Ok(()), |recording| recording.end(poller.elapsed_s(), status));
    watched.and(ended)
}

fn open_poller(
    context: &Context,
    catalog: &Catalog,
    target: &str,
    host: &HostArgs,
) -> Result<Poller> {
    let place = PlaceArgs { target: target.to_string(), ..PlaceArgs::default() };
    let request = request::of_target(catalog, &TargetArgs { place, ..TargetArgs::default() })?;
    let request = Request { host_metrics: host.urls()?, ..request };
    request::with_password(context, &request, |request| Poller::open(catalog, request))
}

fn start_recording(args: &MonitorArgs, poller: &Poller) -> Result<Recording> {
    let file = args.record.clone().unwrap_or_default();
    paths::check_parent(&file, "--record")?;
    paths::refuse_made_by_others(&file, "--record")?;
    let (engine, disclosure) = poller.platform();
    let (target, command, name) = (poller.label(), paths::command_line(), args.name.clone());
    let subject = Subject { target, engine, disclosure: disclosure.clone(), command, name };
    let recording = Recording::begin(Store::open(&file)?, subject)?;
    out::report(&format!("recording run {} in {}", recording.run_id(), file.display()));
    Ok(recording)
}

/// Polls until the end that the arguments or the user set; passes every interval to `take` and
/// shows it.
fn poll_until_end(
    args: &MonitorArgs,
    poller: &mut Poller,
    view: &mut View,
    interrupt: &Interrupt,
    take: &mut dyn FnMut(&IntervalSample) -> Result<()>,
) -> Result<()> {
    let interval = Duration::from_secs_f64(args.interval.0).max(MIN_INTERVAL);
    // A single interval is to hold as many samples as it can.
    let between_samples = if args.once { MIN_INTERVAL } else { SAMPLE_INTERVAL };
    let mut due = Instant::now() + interval;
    loop {
        poller.sample_sessions();
        if view.wait(between_samples.min(due.saturating_duration_since(Instant::now())), interrupt)
        {
            return Ok(());
        }
        if Instant::now() < due {
            continue;
        }
        // An interval that came late is as long as it is.
        due = (due + interval).max(Instant::now());
        let look = poller.read()?;
        take(&look)?;
        view.show(&look)?;
        if args.once || args.duration.is_some_and(|duration| look.t_s >= duration.0) {
            return Ok(());
        }
    }
}

/// The page of the last look.
struct MetricsPage {
    target: String,
    text: Arc<Mutex<String>>,
}

impl MetricsPage {
    fn set(&self, look: &IntervalSample) {
        *self.text.lock() = live_metrics::text(&self.target, look);
    }
}

fn serve_metrics(args: &MonitorArgs, poller: &Poller) -> Result<Option<MetricsPage>> {
    let Some(Listen(address)) = args.metrics else { return Ok(None) };
    let text = Arc::new(Mutex::new(open_metrics::Page::default().end()));
    let page = MetricsPage { target: poller.label(), text: Arc::clone(&text) };
    metrics_server::serve(address, move || text.lock().clone())?;
    Ok(Some(page))
}

/// A terminal that is drawn on as a whole.
struct Screen {
    terminal: DefaultTerminal,
    title: Title,
    history: RateHistory,
}

/// View of the samples.
enum View {
    Screen(Box<Screen>),
    Lines,
    Whole(Title),
    Json,
}

impl View {
    fn open(context: &Context, once: bool, title: Title) -> View {
        if once {
            return View::Whole(title);
        }
        let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
        let terminal = (is_terminal && !context.global.quiet).then(ratatui::try_init);
        match terminal {
            Some(Ok(terminal)) => {
                View::Screen(Box::new(Screen { terminal, title, history: RateHistory::default() }))
            }
            Some(Err(_)) | None => View::Lines,
        }
    }

    fn is_screen(&self) -> bool {
        matches!(self, View::Screen(..))
    }

    fn show(&mut self, look: &IntervalSample) -> Result<()> {
        match self {
            View::Screen(screen) => {
                let Screen { terminal, title, history } = screen.as_mut();
                history.add(look);
                terminal
                    .draw(|frame| monitor_view::draw(frame, title, look, history))
                    .map(drop)
                    .map_err(|error| Error::target("the terminal", error.to_string()))
            }
            View::Lines => out::print_rendered(&monitor_view::line(look)),
            View::Whole(title) => out::print_rendered(&monitor_view::whole(title, look)),
            View::Json => out::json(look),
        }
    }

    /// Waits; true if the user wants to end.
    fn wait(&self, time: Duration, interrupt: &Interrupt) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if interrupt.is_set() || left.is_zero() {
                return interrupt.is_set();
            }
            match self {
                View::Screen(..) if event::poll(left.min(POLL_INTERVAL)).unwrap_or(false) => {
                    if event::read().is_ok_and(|event| is_end(&event)) {
                        return true;
                    }
                }
                View::Screen(..) => {}
                _ => sleep_until_signal(left),
            }
        }
    }
}

/// A signal ends the wait early, without polling.
fn sleep_until_signal(time: Duration) {
    let time = Timespec::try_from(time).unwrap_or_default();
    // Interrupted or over: the caller looks why.
    let _ = poll(&mut [], Some(&time));
}

impl Drop for View {
    fn drop(&mut self) {
        if self.is_screen() {
            ratatui::restore();
        }
    }
}

fn is_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let is_ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    is_ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}
