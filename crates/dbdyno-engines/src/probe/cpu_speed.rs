//! The platform watched while it is measured: what the processors that work give to a fixed piece
//! of work, beside their speed when the run began. Steal, frequency and load do not show a sibling
//! or a clock that the host of a virtual machine lends to others.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use parking_lot::Mutex;

use dbdyno_core::model::Counters;

use super::{Probe, ProbeContext};

mod host;
mod work;

use host::Host;

/// One sample of the speed of the CPUs and their memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuSpeedSample {
    /// Speed of the CPUs that were at work; absent if none was, or the sample was interrupted.
    pub pace: Option<CpuSpeed>,
    /// Seconds of a fixed walk through memory, mean over the processors looked at; absent if it was
    /// interrupted.
    pub walk_s: Option<f64>,
    /// Its speed, 1 = when the run began; absent where caches may hold what it walks through.
    pub walk_speed: Option<f64>,
    /// Lateness of a timer, in seconds.
    pub late_s: f64,
    /// Processes that ran or wanted to.
    pub runnable: Option<f64>,
    /// Mean frequency of the sampled CPUs, if the system reports it.
    pub mhz: Option<f64>,
    /// Processor time of the watch since it began, in seconds.
    pub cpu_s: f64,
}

/// Speed of the CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuSpeed {
    /// Seconds of the fixed piece of integer work, mean over the processors.
    pub work_s: f64,
    /// 1 = as when the run began and all processors were at work.
    pub speed: f64,
}

/// The probe: each reading asks a thread beside the test for one look, and gives the sums of all
/// looks so far.
pub struct CpuSpeedProbe {
    ask: SyncSender<()>,
    sums: Arc<Mutex<Counters>>,
}

/// The probe of this host, where processors can be chosen and timed.
pub(super) fn open(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let mut host = Host::open()?;
    Some(Box::new(CpuSpeedProbe::from_sampler(move || host.round(host::MIDDLE))))
}

impl CpuSpeedProbe {
    /// A watch whose looks come from `look`, which runs in a thread of its own.
    pub fn from_sampler(
        mut look: impl FnMut() -> CpuSpeedSample + Send + 'static,
    ) -> CpuSpeedProbe {
        // Without room for questions one that comes during a look is dropped, not answered late.
        let (ask, asked) = sync_channel(0);
        let sums = Arc::new(Mutex::new(nothing_yet()));
        let shared = Arc::clone(&sums);
        // The thread ends with the probe: there is nobody to ask any more. Where the system has
        // none left nobody answers.
        let _ = std::thread::Builder::new().spawn(move || {
            while asked.recv().is_ok() {
                add(&look(), &mut shared.lock());
            }
        });
        CpuSpeedProbe { ask, sums }
    }
}

impl Probe for CpuSpeedProbe {
    fn name(&self) -> &'static str {
        "watch"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        counters.extend(self.sums.lock().clone());
        // Refused while a look is under way.
        let _ = self.ask.try_send(());
        Ok(())
    }
}

fn nothing_yet() -> Counters {
    let names = [
        "watch_rounds",
        "watch_walk_s",
        "watch_late_s",
        "watch_cpu_s",
        "watch_paced",
        "watch_speed",
        "watch_work_s",
        "watch_walked",
        "watch_walk_speed",
    ];
    Counters(names.map(|name| counter(name, 0.0)).into())
}

fn counter(name: &str, value: f64) -> (String, f64) {
    (name.to_string(), value)
}

/// Sums, so that the difference over any time holds its mean: of pace over `watch_paced`, of the
/// walk's speed over `watch_walked`, of all else over `watch_rounds`.
fn add(round: &CpuSpeedSample, sums: &mut Counters) {
    let mut more = Counters::default();
    more.set("watch_rounds", 1.0);
    more.set("watch_late_s", round.late_s);
    if let Some(CpuSpeed { work_s, speed }) = round.pace {
        more.extend(Counters(
            [("watch_paced", 1.0), ("watch_speed", speed), ("watch_work_s", work_s)]
                .map(|(name, value)| counter(name, value))
                .into(),
        ));
    }
    if let Some(speed) = round.walk_speed {
        more.extend(Counters(
            [("watch_walked", 1.0), ("watch_walk_speed", speed)]
                .map(|(name, value)| counter(name, value))
                .into(),
        ));
    }
    let others = [
        ("watch_walk_s", round.walk_s),
        ("watch_runnable", round.runnable),
        ("watch_mhz", round.mhz),
    ];
    more.0.extend(others.into_iter().filter_map(|(name, value)| Some(counter(name, value?))));
    sums.add(&more);
    sums.set("watch_cpu_s", round.cpu_s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_without_processors_at_work_says_nothing_of_their_speed() {
        let mut sums = nothing_yet();
        let pace = Some(CpuSpeed { work_s: 1e-4, speed: 0.5 });
        let (walk_s, walk_speed) = (Some(3e-4), Some(0.25));
        let round = CpuSpeedSample {
            pace,
            walk_s,
            walk_speed,
            late_s: 1e-3,
            cpu_s: 0.01,
            ..CpuSpeedSample::default()
        };
        add(&round, &mut sums);
        add(&CpuSpeedSample { pace: None, walk_speed: None, cpu_s: 0.02, ..round }, &mut sums);
        let known = [
            "watch_rounds",
            "watch_paced",
            "watch_speed",
            "watch_late_s",
            "watch_cpu_s",
            "watch_runnable",
        ];
        let values = known.map(|name| sums.get(name));
        assert_eq!(values, [Some(2.0), Some(1.0), Some(0.5), Some(2e-3), Some(0.02), None]);
        assert_eq!(
            ["watch_walked", "watch_walk_speed"].map(|name| sums.get(name)),
            [Some(1.0), Some(0.25)]
        );
    }

    #[test]
    fn a_reading_asks_for_a_look_and_does_not_wait_for_it() {
        let (told, hears) = std::sync::mpsc::channel();
        let mut watch = CpuSpeedProbe::from_sampler(move || {
            told.send(()).unwrap();
            CpuSpeedSample::default()
        });
        let mut counters = Counters::default();
        while counters.get("watch_rounds") != Some(1.0) {
            watch.read(&mut counters).unwrap();
        }
        hears.recv().unwrap();
    }
}
