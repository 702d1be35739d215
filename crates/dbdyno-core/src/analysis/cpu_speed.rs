//! Comparison of CPU speed with that at the start of the run, second by second, by the CPU speed
//! probe.

use super::fixed_work::{self, is_another};
use super::missing::not_known;
use crate::model::{Named, Reason, ReasonCode, Sentence, SeriesPoint, Status, Test, TestResult};
use crate::stats::summary::mean;

/// Below this fraction of its speed at the run's begin a processor is slow. The clock of an
/// undisturbed shared host wanders: of 2,925 pieces in 25 minutes of a virtual machine at full load
/// 99.6 % took 0.88 to 1.03 of their median, idle or busy alike. A run that begins at the fastest
/// clock would call most seconds slow at 0.9, and 0.4 % of them at 0.85.
pub(super) const SLOW: f64 = 0.85;
/// Below this fraction the CPUs of a platform were slower in one of two runs, by all tests that
/// both have. Of sixteen quick runs of a shared host (120 to 170 tests each) those of the same half
/// hour lay within 0.98 to 1.02 of each other; as its neighbors went, the CPUs became 1.05 to 1.11
/// times as fast, and the figures 1.16 to 1.34 times.
pub(super) const STEADY: f64 = 0.96;
/// Share of the window's seconds above which slow ones make figures conditional, and how many are
/// too few to say so: a second is one or two looks.
const TOLERATED: f64 = 0.1;
const FEWEST: usize = 2;

/// Speed of the processors at work over a period; 1 = as when the run began and all processors were
/// at work.
///
/// # Errors
/// The reason for which it cannot be had, for a footnote.
pub fn speed(counters: &impl Named) -> Result<f64, Sentence> {
    per_look(counters, "watch_speed")
}

/// Seconds of the watch's integer work over a period.
///
/// # Errors
/// The reason for which it cannot be had, for a footnote.
pub fn work_s(counters: &impl Named) -> Result<f64, Sentence> {
    per_look(counters, "watch_work_s")
}

/// Seconds that the watch's integer work took when the run of this test began and all processors
/// were at work.
fn at_begin_s(test: &TestResult) -> Option<f64> {
    Some(work_s(&test.window_counters).ok()? * speed(&test.window_counters).ok()?)
}

/// Reason for two runs on the same CPU model if it was faster in one of them, which neither run can
/// notice alone. `least` is the fraction of the speed from which on both are equally fast, by the
/// tests that both have. Where those are few, it is the speed at the start of the runs, which is
/// sampled once only and has a limit of its own.
pub(super) fn between(base: &[Test], other: &[Test], least: f64) -> Option<Sentence> {
    if let Some(times) = fixed_work::times(base.iter(), other.iter(), work_of_test_s) {
        let sentence = "a fixed piece of work took the same CPUs x{times} of the baseline's time \
                        during the tests that both runs have";
        return is_another(times, least).then(|| Sentence::new(sentence).with("times", times));
    }
    let times = first_begin_s(other)? / first_begin_s(base)?;
    let sentence = "a fixed piece of work took the same CPUs x{times} of the baseline's time when \
                    the run started";
    is_another(times, SLOW).then(|| Sentence::new(sentence).with("times", times))
}

/// True if the CPUs of an earlier run differed from those of the base by at least as much as those
/// of the other run, to either side: then the variance of figures includes the effect.
pub(super) fn is_seen_before(base: &[Test], other: &[Test], earlier: &[Vec<&Test>]) -> bool {
    fixed_work::is_seen_before(base, other, earlier, work_of_test_s)
}

/// Seconds of the watch's integer work during a test; none where nothing watched.
fn work_of_test_s(test: &TestResult) -> Option<f64> {
    work_s(&test.window_counters).ok()
}

fn first_begin_s(tests: &[Test]) -> Option<f64> {
    tests.iter().filter_map(|test| test.measured()).find_map(at_begin_s)
}

fn per_look(counters: &impl Named, name: &str) -> Result<f64, Sentence> {
    mean_of(counters, name, "watch_paced")
}

/// Speed of a walk through memory over a period; 1 = as when the run began.
///
/// # Errors
/// The reason for which it cannot be had, for a footnote.
pub fn memory_speed(counters: &impl Named) -> Result<f64, Sentence> {
    mean_of(counters, "watch_walk_speed", "watch_walked")
}

fn mean_of(counters: &impl Named, name: &str, looks: &str) -> Result<f64, Sentence> {
    let (sum, looks) =
        counters.get(name).zip(counters.get(looks)).ok_or_else(|| not_known(name))?;
    if looks > 0.0 {
        Ok(sum / looks)
    } else {
        Err("no CPU was busy when its speed was sampled".into())
    }
}

/// True if the CPUs were slow in this second; absent if that is not known.
pub fn is_slow(point: &SeriesPoint) -> Option<bool> {
    speed(&point.metrics).ok().map(|speed| speed < SLOW)
}

/// Speeds in the seconds of the window; the speed over the whole window if it has no whole second.
fn speeds(result: &TestResult) -> Vec<f64> {
    let inside = result.series.iter().filter(|point| point.in_window);
    let seconds: Vec<f64> = inside.filter_map(|point| speed(&point.metrics).ok()).collect();
    let of_all = || speed(&result.window_counters).into_iter().collect();
    if seconds.is_empty() { of_all() } else { seconds }
}

/// The reason, if the processors were slow in too many seconds of the window.
pub(super) fn judge(result: &TestResult) -> Option<Reason> {
    let speeds = speeds(result);
    let slow = speeds.iter().filter(|speed| **speed < SLOW).count();
    let (least, most) =
        speeds.iter().fold((f64::INFINITY, 0.0), |(low, high), x| (x.min(low), x.max(high)));
    let sentence = "CPU speed was {least~} to {most~} of its speed at the start of the run, and \
                    below {limit=} in {slow} of {seconds} seconds";
    let sentence =
        Sentence::new(sentence).with("least", least).with("most", most).with("slow", slow as u64);
    let sentence = sentence.with("seconds", speeds.len() as u64).with("limit", SLOW);
    let too_many = slow >= FEWEST && slow as f64 > TOLERATED * speeds.len() as f64;
    (too_many || mean(&speeds).is_some_and(|mean| mean < SLOW))
        .then(|| Reason::new(Status::Conditional, ReasonCode::PlatformUnsteady, sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::{self, counters};

    /// A window of ten seconds with these speeds; negative = nothing known.
    fn with(speeds: [f64; 10]) -> Option<String> {
        let mut result = fixture::result();
        let inside = result.series.iter_mut().filter(|point| point.in_window);
        for (point, speed) in inside.zip(speeds) {
            let looks = f64::from(speed > 0.0);
            point.metrics =
                counters(&[("watch_paced", looks), ("watch_speed", speed * looks)]).into();
        }
        judge(&result).map(|reason| reason.text)
    }

    #[test]
    fn more_than_a_tenth_of_slow_seconds_is_a_reason_with_the_figures() {
        let text = "CPU speed was 0.620 to 1.000 of its speed at the start of the run, and below \
                    0.85 in 2 of 10 seconds";
        assert_eq!(
            with([1.0, 0.9, 0.62, 1.0, 0.84, 1.0, 0.95, 0.95, 0.95, 0.95]).as_deref(),
            Some(text)
        );
        assert_eq!(with([1.0, 1.0, 0.62, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), None, "one of ten");
        let short =
            |speed| with([1.0, speed, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0]).is_some();
        assert!(!short(0.5) && short(0.3), "one of four, and the mean of all");
        assert_eq!(with([1.4; 10]), None, "with idle siblings a processor is faster");
    }

    #[test]
    fn runs_that_began_at_another_speed_are_told_apart() {
        let test = |work_s: f64, speed: f64| {
            let window_counters = counters(&[
                ("watch_paced", 2.0),
                ("watch_speed", 2.0 * speed),
                ("watch_work_s", 2.0 * work_s),
            ]);
            TestResult { window_counters, ..fixture::result() }
        };
        let said = |base: &TestResult, other: &TestResult| {
            let [base, other] = [base, other].map(|test| [Test::from(test.clone())]);
            between(&base, &other, STEADY).map(|said| said.to_string())
        };
        let base = test(1e-4, 1.0);
        let text = "a fixed piece of work took the same CPUs x1.50 of the baseline's time when the \
                    run started";
        assert_eq!(said(&base, &test(1.5e-4, 1.0)).as_deref(), Some(text));
        assert!(said(&base, &test(0.7e-4, 1.0)).is_some(), "faster");
        assert_eq!(said(&base, &test(2e-4, 0.5)), None, "slow later: its own run says so");
        assert_eq!(said(&base, &fixture::result()), None, "not watched");
    }

    #[test]
    fn runs_whose_cpus_were_slower_during_their_tests_are_told_apart() {
        let run = |work_s: [f64; 6], begin: f64| {
            let test = |(jobs, work_s): (u32, f64)| {
                let window_counters = counters(&[
                    ("watch_paced", 4.0),
                    ("watch_speed", 4.0 * begin),
                    ("watch_work_s", 4.0 * work_s),
                ]);
                Test::from(TestResult { jobs, window_counters, ..fixture::result() })
            };
            (1..).zip(work_s).map(test).collect::<Vec<Test>>()
        };
        let said = |base: &[Test], other: &[Test], least: f64| {
            between(base, other, least).map(|said| said.to_string())
        };
        let base = run([70e-6, 71e-6, 80e-6, 72e-6, 69e-6, 70e-6], 1.0);
        // The same tests each a fifteenth slower, whatever the speed at the start was taken for.
        let slower = run([75e-6, 76e-6, 86e-6, 77e-6, 74e-6, 75e-6], 1.3);
        let text = "a fixed piece of work took the same CPUs x1.07 of the baseline's time during \
                    the tests that both runs have";
        assert_eq!(said(&base, &slower, STEADY).as_deref(), Some(text));
        assert_eq!(said(&base, &slower, SLOW), None, "a difference that a history has seen");
        assert_eq!(said(&base, &base, STEADY), None);
        let one_loud = run([70e-6, 95e-6, 80e-6, 72e-6, 69e-6, 70e-6], 1.0);
        assert_eq!(said(&base, &one_loud, STEADY), None, "one test had neighbors");
        assert!(said(&base[..4], &slower, SLOW).is_some(), "few: as they started");
        // An earlier run that was as fast as the base shows no such effect.
        let seen = |earlier: &[Test]| {
            is_seen_before(&base, &slower, &[base.iter().collect(), earlier.iter().collect()])
        };
        assert_eq!((seen(&base), seen(&slower)), (false, true));
    }

    #[test]
    fn seconds_of_which_nothing_is_known_neither_accuse_nor_acquit() {
        assert_eq!(with([-1.0; 10]), None);
        let few = with([-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 0.5]).unwrap();
        assert!(few.contains(" in 1 of 2 seconds"), "{few}");
        assert_eq!(judge(&fixture::result()), None, "without a watch");
        let window_counters = counters(&[("watch_paced", 2.0), ("watch_speed", 1.0)]);
        let short = judge(&TestResult { series: Vec::new(), window_counters, ..fixture::result() });
        assert!(short.unwrap().text.contains("0.500 to 0.500 "), "a window without a whole second");
    }
}
