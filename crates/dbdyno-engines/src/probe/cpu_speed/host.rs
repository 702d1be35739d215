//! Looks at the processors of this host.

use std::collections::BTreeMap;
use std::sync::{OnceLock, RwLock};
use std::time::{Duration, Instant};

use super::work::{Walk, integers, integers_s, walk_s};
use super::{CpuSpeed, CpuSpeedSample};
use crate::engine::threads;
use crate::host::{keep_thread_on, thread_cpu_s, usable_processors};

/// From a reading, which is at a whole second, where slices end, to the look.
pub(super) const MIDDLE: Duration = Duration::from_millis(500);
/// Processors of one look, so that it costs less than 3 ms.
const MAX_AT_ONCE: usize = 4;
/// A processor that works for less than this share of the time is left out: it may be clocked down.
const AT_WORK: f64 = 0.5;
/// Time that all CPUs work before their speed counts as that of the run's start.
const WARM: Duration = Duration::from_millis(10);
/// Measurements of that speed; their median counts.
const MEASUREMENTS: usize = 9;

/// A processor that we may use.
#[derive(Debug, Clone)]
struct Processor {
    number: usize,
    /// Seconds of the integer work when the run began and all processors did it.
    first_s: f64,
    /// Seconds of the walk through memory then; absent where caches may have held its lines.
    first_walk_s: Option<f64>,
}

/// Measured once, since the probes of a run are opened anew for each of its servers; with the
/// buffer of the walk.
static AT_BEGIN: OnceLock<(Vec<Processor>, Walk)> = OnceLock::new();

/// The processors, each with its speed when the run began.
pub(super) struct Host {
    processors: Vec<Processor>,
    /// Position at which the next look begins, so that every CPU gets its turn.
    turn: usize,
    walk: Walk,
}

impl Host {
    /// Measures how fast all processors are when all of them work; none where that cannot be known.
    pub fn open() -> Option<Self> {
        Usage::now()?;
        let numbers = usable_processors().ok()?;
        let measured = || {
            let walk = Walk::new();
            (all_at_work(&numbers, &walk), walk)
        };
        let (processors, walk) = AT_BEGIN.get_or_init(measured).clone();
        (!processors.is_empty()).then_some(Host { processors, turn: 0, walk })
    }

    /// Looks at some processors after `pause`.
    pub fn round(&mut self, pause: Duration) -> CpuSpeedSample {
        let before = Usage::now();
        let due = Instant::now() + pause;
        std::thread::sleep(pause);
        let late_s = due.elapsed().as_secs_f64();
        let after = Usage::now();
        let working =
            before.zip(after.as_ref()).map(|(before, after)| find_working(&before, after));
        let chosen = self.chosen(&working.unwrap_or_default());
        let look =
            |(at, works): &(usize, bool)| sample_cpu(&self.processors[*at], *works, &mut self.walk);
        let looks: Vec<CpuSample> = chosen.iter().filter_map(look).collect();
        let runnable = after.and_then(|usage| usage.runnable);
        CpuSpeedSample { late_s, runnable, cpu_s: thread_cpu_s(), ..together(&looks) }
    }

    /// The processors whose turn it is, and whether they work: those that do; if none does, the
    /// next one.
    fn chosen(&mut self, working: &[bool]) -> Vec<(usize, bool)> {
        let (turn, count) = (self.turn, self.processors.len());
        let works = |at: usize| working.get(self.processors[at].number).copied().unwrap_or(false);
        let next = (turn..turn + count).map(|at| at % count);
        let at_work: Vec<(usize, bool)> =
            next.filter(|&at| works(at)).take(MAX_AT_ONCE).map(|at| (at, true)).collect();
        let chosen = if at_work.is_empty() { vec![(turn % count, false)] } else { at_work };
        self.turn = chosen.last().map_or(turn, |(at, _)| at + 1);
        chosen
    }
}

/// Sample of one CPU.
struct CpuSample {
    pace: Option<CpuSpeed>,
    walk_s: Option<f64>,
    /// 1 = as when the run began.
    walk_speed: Option<f64>,
    mhz: Option<f64>,
}

/// None if the processor may not be used any more.
fn sample_cpu(processor: &Processor, works: bool, walk: &mut Walk) -> Option<CpuSample> {
    keep_thread_on(&[processor.number]).ok()?;
    let work_s = integers_s().filter(|_| works);
    let pace = work_s.map(|work_s| CpuSpeed { work_s, speed: processor.first_s / work_s });
    let walk_s = walk_s(walk);
    let walk_speed = processor.first_walk_s.zip(walk_s).map(|(first_s, walk_s)| first_s / walk_s);
    Some(CpuSample { pace, walk_s, walk_speed, mhz: mhz(processor.number) })
}

fn together(looks: &[CpuSample]) -> CpuSpeedSample {
    let mean = |of: &dyn Fn(&CpuSample) -> Option<f64>| {
        let known: Vec<f64> = looks.iter().filter_map(of).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let pace = |of: fn(CpuSpeed) -> f64| mean(&|look| look.pace.map(of));
    let pace = pace(|pace| pace.work_s)
        .zip(pace(|pace| pace.speed))
        .map(|(work_s, speed)| CpuSpeed { work_s, speed });
    let [walk_s, walk_speed, mhz] =
        [mean(&|look| look.walk_s), mean(&|look| look.walk_speed), mean(&|look| look.mhz)];
    CpuSpeedSample { pace, walk_s, walk_speed, mhz, ..CpuSpeedSample::default() }
}

/// Time of the CPUs so far, as `/proc/stat` shows it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Usage {
    /// By CPU number: those that are switched off have no line, so that a CPU's position in the
    /// file is not its number.
    cpus: BTreeMap<usize, CpuTicks>,
    /// Processes that run or want to.
    runnable: Option<f64>,
}

/// Time of a CPU so far, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CpuTicks {
    busy: u64,
    /// Busy, idle, or waiting for I/O.
    all: u64,
}

impl Usage {
    /// None where the system does not tell.
    fn now() -> Option<Usage> {
        let usage = Usage::parse(&std::fs::read_to_string("/proc/stat").ok()?);
        (!usage.cpus.is_empty()).then_some(usage)
    }

    fn parse(stat: &str) -> Usage {
        let mut usage = Usage::default();
        for line in stat.lines() {
            let Some((name, values)) = line.split_once(' ') else { continue };
            if name == "procs_running" {
                usage.runnable = values.trim().parse().ok();
            }
            // The line `cpu` is the sum of all.
            let Some(number) = name.strip_prefix("cpu").and_then(|text| text.parse().ok()) else {
                continue;
            };
            let ticks = values.split_whitespace().map_while(|value| value.parse::<u64>().ok());
            // user, nice, system; then idle, waiting for I/O (proc_stat(5))
            let ticks: Vec<u64> = ticks.take(5).collect();
            let busy = ticks.iter().take(3).sum();
            usage.cpus.insert(number, CpuTicks { busy, all: ticks.iter().sum() });
        }
        usage
    }
}

/// True, by CPU number, for those that worked for most of the time between two readings; one that
/// was switched on or off between them did not.
fn find_working(before: &Usage, after: &Usage) -> Vec<bool> {
    let works = |number: usize| {
        let (Some(before), Some(after)) = (before.cpus.get(&number), after.cpus.get(&number))
        else {
            return false;
        };
        let (busy, all) =
            (after.busy.saturating_sub(before.busy), after.all.saturating_sub(before.all));
        all > 0 && busy as f64 >= AT_WORK * all as f64
    };
    let count = after.cpus.last_key_value().map_or(0, |(last, _)| last + 1);
    (0..count).map(works).collect()
}

/// Every processor with its speed while all do the same.
fn all_at_work(numbers: &[usize], walk: &Walk) -> Vec<Processor> {
    // Held until the last thread is started, or refused by the system.
    let start = RwLock::new(());
    let measure = |number: usize| {
        let (stays, mut walk) = (keep_thread_on(&[number]).ok(), walk.from(number << 12));
        drop(start.read());
        stays?;
        let first_s = first_s()?;
        let first_walk_s = Walk::IS_COLD.then(|| median_of(|| walk_s(&mut walk))).flatten();
        Some(Processor { number, first_s, first_walk_s })
    };
    std::thread::scope(|scope| {
        let held = start.write();
        let begin = |&number: &usize| threads::start(scope, move || measure(number)).ok();
        let threads: Vec<_> = numbers.iter().filter_map(begin).collect();
        drop(held);
        threads.into_iter().filter_map(|thread| thread.join().ok()?).collect()
    })
}

/// The median, since the others may have ended before the last measurement or begin after the
/// first.
fn first_s() -> Option<f64> {
    let began = Instant::now();
    while began.elapsed() < WARM {
        integers();
    }
    median_of(integers_s)
}

fn median_of(mut measured: impl FnMut() -> Option<f64>) -> Option<f64> {
    let mut found: Vec<f64> = (0..MEASUREMENTS).filter_map(|_| measured()).collect();
    found.sort_by(f64::total_cmp);
    found.get(found.len() / 2).copied()
}

fn mhz(number: usize) -> Option<f64> {
    let path = format!("/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq");
    let khz: f64 = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(khz / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Less than 0.3 % of a processor at a look a second.
    const MAX_CPU_S: f64 = 0.003;

    #[test]
    fn a_look_costs_less_than_three_thousandths_of_a_processor() {
        let mut host = Host::open().unwrap();
        let mut spent_s = Vec::new();
        std::thread::spawn(move || {
            let first_s = host.round(Duration::ZERO).cpu_s;
            let _ = (0..20).fold(first_s, |before_s, _| {
                let now_s = host.round(Duration::ZERO).cpu_s;
                spent_s.push(now_s - before_s);
                now_s
            });
            spent_s.sort_by(f64::total_cmp);
            assert!(spent_s[10] < MAX_CPU_S, "{spent_s:?}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_is_known_by_its_number_also_where_others_are_switched_off() {
        let stat = |busy: [u64; 3]| {
            // CPUs 1 and 3 are the siblings of 0 and 2, which the system has switched off.
            let [zero, two, four] = busy;
            Usage::parse(&format!(
                "cpu  9 9 9 9 9 0 0 0 0 0\ncpu0 {zero} 0 0 {} 0 0 0 0 0 0\n\
                 cpu2 0 {two} 0 {} 0 0 0 0 0 0\ncpu4 0 0 {four} 0 {} 0 0 0 0 0\n\
                 intr 1 2 3\nprocs_running 3\n",
                100 - zero,
                100 - two,
                100 - four
            ))
        };
        let (before, after) = (stat([0; 3]), stat([0; 3]));
        assert_eq!((before.cpus.len(), before.runnable), (3, Some(3.0)));
        assert_eq!(find_working(&before, &after), [false; 5], "no time has passed");
        let later = |busy: [u64; 3]| {
            let mut usage = stat(busy);
            usage.cpus.values_mut().for_each(|ticks| ticks.all += 100);
            usage
        };
        assert_eq!(find_working(&before, &later([10, 90, 60])), [false, false, true, false, true]);
        let mut switched_on = later([10, 90, 60]);
        switched_on.cpus.insert(1, CpuTicks { busy: 500, all: 500 });
        assert_eq!(
            find_working(&before, &switched_on),
            [false, false, true, false, true],
            "what a CPU that came back did is not known"
        );
    }

    #[test]
    fn processors_at_work_have_their_turn_before_idle_ones() {
        let processors =
            (0..6).map(|number| Processor { number, first_s: 1e-4, first_walk_s: None }).collect();
        let mut host = Host { processors, turn: 0, walk: Walk::new() };
        let at =
            |chosen: Vec<(usize, bool)>| chosen.into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(at(host.chosen(&[true; 6])), [0, 1, 2, 3]);
        assert_eq!(at(host.chosen(&[true; 6])), [4, 5, 0, 1]);
        let some = [false, true, false, true, false, false];
        assert_eq!(at(host.chosen(&some)), [3, 1]);
        assert_eq!(host.chosen(&[]), [(2, false)]);
        assert_eq!(host.chosen(&[false; 6]), [(3, false)]);
    }

    #[test]
    fn the_pace_is_the_mean_of_the_processors_that_worked_without_a_break() {
        let look = |speed: Option<f64>| CpuSample {
            pace: speed.map(|speed| CpuSpeed { work_s: 1e-4 / speed, speed }),
            walk_s: Some(2e-4),
            walk_speed: speed,
            mhz: None,
        };
        let round = together(&[look(Some(1.0)), look(Some(0.5)), look(None)]);
        assert_eq!(
            (round.pace.map(|pace| pace.speed), round.walk_s, round.mhz),
            (Some(0.75), Some(2e-4), None)
        );
        assert_eq!(round.walk_speed, Some(0.75));
        assert_eq!(together(&[look(None)]).pace, None);
    }
}
