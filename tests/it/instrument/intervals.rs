//! The coverage of intervals, by simulation with fixed seeds: of the figures whose true value is
//! known the 95 % interval that is printed holds it in 94 % at least, whatever the noise, or there
//! is none. The numbers of decision 0028 come from here.

use std::sync::OnceLock;

use dbdyno::analysis::compare::{Change, Ratio};
use dbdyno::analysis::fill;
use dbdyno::analysis::interval::{self, Interval, UncertainValue, Unknown};
use dbdyno::analysis::repeats::{self, Repeat, Repeats};
use dbdyno::model::{
    Better, Counters, Kpm, KpmValue, RunRecord, SeriesPoint, Tally, Test, TestResult,
};
use dbdyno::stats::law_ranges::ranges;
use dbdyno::stats::mean_interval;
use dbdyno::stats::scaling::Law;
use dbdyno::store::Store;

use crate::fixture;
use crate::support::Desk;

/// The share of intervals that hold the true value, at least.
const LEAST: f64 = 0.94;
/// The true rate, per second.
const RATE: f64 = 1000.0;
/// Standard deviation of a second, as a fraction of the rate.
const NOISE: f64 = 0.02;
/// Seconds of a window.
const SECONDS: [usize; 7] = [5, 7, 10, 15, 20, 30, 60];

/// Random numbers of our own (SplitMix64; normal ones by Box and Muller).
struct Random(u64);

impl Random {
    /// Between 0 and 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, turn) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }
}

/// Variation of the seconds of a window.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// Each resembles the one before it so much (first-order autoregressive).
    Alike(f64),
    /// Independent, around a line that climbs by so much in the window.
    Drifting(f64),
    /// Independent, five times as large in bursts that begin every ten seconds and last two.
    Bursts,
    /// As independent as alike: half of the variance has no memory, half of it 0.9.
    Mixed,
    /// The rate falls by 30 % every five seconds, for two: dips that every window of 15 s has seen.
    Dips,
}

impl Noise {
    /// The rates of the seconds, and the true mean.
    fn window(self, seconds: usize, random: &mut Random) -> (Vec<f64>, f64) {
        let mut state = random.normal();
        let (begins, ends): (f64, f64) = match self {
            Noise::Dips => (0.2, 0.5),
            _ => (0.1, 0.5),
        };
        let share = begins / (begins + ends);
        let mut is_on = random.uniform() < share;
        let mut second = |at: usize| {
            let own = random.normal();
            let step = |state: f64, memory: f64, fresh: f64| {
                memory * state + (1.0 - memory * memory).sqrt() * fresh
            };
            let (level, error) = match self {
                Noise::Alike(memory) => {
                    let error = state;
                    state = step(state, memory, own);
                    (0.0, error)
                }
                Noise::Mixed => {
                    let error = (state + random.normal()) / 2f64.sqrt();
                    state = step(state, 0.9, own);
                    (0.0, error)
                }
                Noise::Drifting(by) => (by * ((at as f64 + 0.5) / seconds as f64 - 0.5), own),
                Noise::Bursts => (0.0, if is_on { 5.0 * own } else { own }),
                Noise::Dips => (if is_on { -0.3 } else { 0.0 }, own),
            };
            is_on = if is_on { random.uniform() > ends } else { random.uniform() < begins };
            RATE * (1.0 + level + NOISE * error)
        };
        let rates = (0..seconds).map(&mut second).collect();
        let lost = if matches!(self, Noise::Dips) { 0.3 * share } else { 0.0 };
        (rates, RATE * (1.0 - lost))
    }
}

/// Coverage of the intervals of simulated figures.
#[derive(Debug, Default)]
struct Coverage {
    held: usize,
    missed: usize,
    absent: usize,
    half_widths: Vec<f64>,
}

impl Coverage {
    /// Counts a figure with the half width of its interval, as a fraction of it.
    fn count(&mut self, figure: f64, truth: f64, half_width: Option<f64>) {
        let Some(half) = half_width else {
            self.absent += 1;
            return;
        };
        self.half_widths.push(half);
        if (figure - truth).abs() <= half * figure { self.held += 1 } else { self.missed += 1 }
    }

    /// Of those that there are.
    fn share(&self) -> f64 {
        self.held as f64 / (self.held + self.missed) as f64
    }

    fn absent_share(&self) -> f64 {
        self.absent as f64 / (self.held + self.missed + self.absent) as f64
    }

    /// In percent.
    fn median_half_width(&mut self) -> f64 {
        self.half_widths.sort_by(f64::total_cmp);
        100.0 * self.half_widths.get(self.half_widths.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn of_windows(noise: Noise, seconds: usize, windows: usize) -> Coverage {
    let (mut random, mut found) = (Random(seconds as u64), Coverage::default());
    for _ in 0..windows {
        let (rates, truth) = noise.window(seconds, &mut random);
        let interval = mean_interval(&rates);
        let half = interval.and_then(|interval| interval.fraction());
        found.count(mean(&rates), truth, half);
    }
    found
}

#[test]
fn the_interval_of_one_window_covers_however_its_seconds_resemble_one_another() {
    let alike = [0.0, 0.3, 0.5, 0.7, 0.9].map(Noise::Alike);
    let others = [Noise::Drifting(0.06), Noise::Drifting(0.2), Noise::Bursts];
    for noise in alike.into_iter().chain(others) {
        for seconds in SECONDS {
            // The hardest is looked at longer.
            let windows = if matches!(noise, Noise::Alike(0.9)) { 1500 } else { 400 };
            let mut found = of_windows(noise, seconds, windows);
            let (share, absent) = (found.share(), found.absent_share());
            println!(
                "{noise:?}, {seconds} s: {share:.3}, absent {absent:.3}, +-{:.2} %",
                found.median_half_width()
            );
            assert!(share >= LEAST, "{noise:?}, {seconds} s: {share}");
            // A trend of a fifth in a few seconds can leave nothing to say.
            let most_absent = if matches!(noise, Noise::Drifting(_)) { 0.5 } else { 0.01 };
            assert!(absent <= most_absent, "{noise:?}, {seconds} s: {absent} absent");
        }
    }
}

#[test]
fn independent_seconds_keep_a_narrow_interval() {
    // Student's own half width is 1.43, 0.94 and 0.52 %.
    for (seconds, most) in [(10, 6.5), (20, 2.9), (60, 1.15)] {
        let half = of_windows(Noise::Alike(0.0), seconds, 400).median_half_width();
        assert!(half < most, "{seconds} s: {half} %");
    }
}

#[test]
fn dips_that_a_window_has_seen_and_slow_parts_of_the_noise_are_covered() {
    for seconds in [15, 20, 30, 60] {
        let share = of_windows(Noise::Dips, seconds, 2000).share();
        assert!(share >= LEAST, "dips, {seconds} s: {share}");
    }
    for seconds in SECONDS {
        let mut found = of_windows(Noise::Mixed, seconds, 2000);
        let (share, half) = (found.share(), found.median_half_width());
        println!("mixed, {seconds} s: {share:.3}, +-{half:.2} %");
        assert!(share >= LEAST, "mixed, {seconds} s: {share}");
        assert_eq!(found.absent, 0, "{seconds} s");
    }
}

/// Repetitions: windows of ten seconds that vary among themselves, too.
fn repetitions(noise: Noise, between: f64, count: usize, random: &mut Random) -> Vec<f64> {
    let window =
        |random: &mut Random| mean(&noise.window(10, random).0) + RATE * between * random.normal();
    (0..count).map(|_| window(random)).collect()
}

/// The figure of repetitions and the half width of its interval.
fn figure_of(mut values: Vec<f64>, better: Better, test: &Test) -> (f64, Option<f64>) {
    values.sort_by(f64::total_cmp);
    let repeats: Repeats<'_> = values.into_iter().map(|value| Repeat { value, test }).collect();
    let value = repeats::value(&repeats, better, &KpmValue::Ops).value;
    let known = repeats::interval_of(&repeats, test, &KpmValue::Ops);
    (value, known.ok().map(|interval| interval.half_width()))
}

/// A test of the fixture, which is made once for all simulations.
fn fixture_test() -> TestResult {
    static TEST: OnceLock<TestResult> = OnceLock::new();
    let is_one = |test: &TestResult| test.workload == "SRV-QUERY1" && test.jobs == 1;
    TEST.get_or_init(|| fixture::tests().into_iter().find(is_one).unwrap()).clone()
}

#[test]
fn the_interval_of_repetitions_covers_their_mean_and_never_rests_on_one_window() {
    let test: Test = fixture_test().into();
    for (noise, between) in
        [(Noise::Alike(0.0), 0.0), (Noise::Alike(0.9), 0.05), (Noise::Bursts, 0.0)]
    {
        for count in [2, 3, 4, 5, 7, 10] {
            let (mut random, mut found) = (Random(count as u64), Coverage::default());
            for _ in 0..1000 {
                let values = repetitions(noise, between, count, &mut random);
                for better in [Better::Higher, Better::Lower] {
                    let (value, half) = figure_of(values.clone(), better, &test);
                    found.count(value, RATE, half);
                }
            }
            let share = found.share();
            println!(
                "{noise:?}, {count} times, between {between}: {share:.3}, +-{:.2} %",
                found.median_half_width()
            );
            assert!(share >= LEAST, "{noise:?}, {count} times, {between}: {share}");
            assert_eq!(found.absent, 0);
        }
    }
}

/// The windows of so many loads of the data, in their order.
fn layout(loads: u64, starts: u64, windows: usize) -> Vec<Test> {
    let base = fixture_test();
    let window = |load: u64, start: u64| TestResult {
        load: load as u32,
        server_start: (load * 100 + start) as u32,
        ..base.clone()
    };
    let starts = (1..=loads).flat_map(|load| (1..=starts).map(move |start| (load, start)));
    let windows = starts.flat_map(|start| std::iter::repeat_n(start, windows));
    windows.map(|(load, start)| window(load, start).into()).collect()
}

/// Loads of the data with so many starts of the server each, of so many windows each.
#[test]
fn the_interval_of_repeated_starts_and_loads_covers_what_differs_between_them() {
    const WINDOW: f64 = 0.01;
    // What differs between starts and between loads, as a fraction of the rate.
    for (of_starts, of_loads) in [(0.0, 0.0), (0.03, 0.0), (0.02, 0.04)] {
        for (loads, starts, windows) in
            [(1, 2, 1), (1, 3, 1), (1, 5, 2), (1, 10, 1), (2, 1, 1), (3, 2, 2), (5, 1, 2)]
        {
            // Two starts of one load say nothing of loads.
            let of_loads = if loads > 1 { of_loads } else { 0.0 };
            let tests: Vec<Test> = layout(loads, starts, windows);
            let (mut random, mut found) = (Random(loads * 100 + starts), Coverage::default());
            for _ in 0..600 {
                let mut of_windows = tests.iter();
                let mut repeats: Repeats<'_> = Vec::new();
                for _ in 0..loads {
                    let level = RATE * (1.0 + of_loads * random.normal());
                    for _ in 0..starts {
                        let level = level + RATE * of_starts * random.normal();
                        let own = of_windows.by_ref().take(windows);
                        repeats.extend(own.map(|test| Repeat {
                            value: level + RATE * WINDOW * random.normal(),
                            test,
                        }));
                    }
                }
                repeats.sort_by(|a, b| a.value.total_cmp(&b.value));
                let Repeat { value, test } =
                    repeats::value(&repeats, Better::Higher, &KpmValue::Ops);
                let known = repeats::interval_of(&repeats, test, &KpmValue::Ops);
                found.count(value, RATE, known.ok().map(|interval| interval.half_width()));
            }
            let (share, absent) = (found.share(), found.absent);
            let what = format!("{loads} loads of {starts} starts of {windows} windows");
            println!("{what}: {share:.3}, +-{:.2} %", found.median_half_width());
            assert!(share >= LEAST && absent == 0, "{what}, {of_starts} {of_loads}: {share}");
        }
    }
}

/// The share of plateaus of so many equal steps, each of one window, whose best step's interval
/// holds the true value; with that of its own step alone, and widened as the best of several.
fn of_plateaus(steps: usize, seconds: usize) -> [f64; 2] {
    let mut random = Random(steps as u64);
    let mut found = [Coverage::default(), Coverage::default()];
    for _ in 0..2000 {
        let step = |_| {
            // Student's own interval, so that nothing but the choice is tried.
            let rates = Noise::Alike(0.0).window(seconds, &mut random).0;
            let centre = mean(&rates);
            let squares: f64 = rates.iter().map(|rate| (rate - centre).powi(2)).sum();
            let error = (squares / (seconds - 1) as f64 / seconds as f64).sqrt() / centre;
            let own = Interval { error, freedom: (seconds - 1) as f64, ..KNOWN };
            UncertainValue { value: centre, interval: Ok(own) }
        };
        let all: Vec<UncertainValue> = (0..steps).map(step).collect();
        let best = all.iter().copied().reduce(|a, b| if b.value > a.value { b } else { a });
        let best = best.unwrap();
        let widened = interval::widened(best.interval, interval::favour(best, all.into_iter()));
        for (found, known) in found.iter_mut().zip([best.interval, widened]) {
            found.count(best.value, RATE, known.ok().map(|known| known.half_width()));
        }
    }
    found.map(|found| found.share())
}

const KNOWN: Interval = Interval {
    error: 0.0,
    freedom: 0.0,
    further: None,
    fresh: None,
    source: interval::Source::Seconds,
};

#[test]
fn the_interval_of_the_best_step_of_a_ramp_covers_though_chance_chose_it() {
    for steps in [2, 4, 6] {
        let [own, widened] = of_plateaus(steps, 10);
        println!("best of {steps}: {own:.3} alone, {widened:.3} as the best");
        assert!(widened >= LEAST, "{steps} steps: {widened}");
        // The interval of the step alone covers (1 - 0.025)^steps and less.
        assert!(steps <= 2 || own < LEAST, "{steps} steps: {own}");
    }
}

/// Ramps of a law of scalability whose steps vary by 2 % of themselves. Three hundred of each can
/// miss what holds by two standard errors.
#[test]
fn peak_and_knee_of_a_law_are_in_their_intervals() {
    const RAMPS: usize = 300;
    let least = LEAST - 2.0 * (LEAST * (1.0 - LEAST) / RAMPS as f64).sqrt();
    for (alpha, beta) in [(0.05, 0.01), (0.02, 0.002), (0.1, 0.0), (0.3, 0.1)] {
        let law = Law { gamma: RATE, alpha, beta };
        let truth = [law.peak_jobs(), law.knee_jobs()].map(|jobs| jobs.unwrap_or(f64::INFINITY));
        for steps in [4, 6] {
            let (mut random, mut held, mut ended) = (Random(steps as u64), [0, 0], [0, 0]);
            for _ in 0..RAMPS {
                let step = |at: i32| {
                    let jobs = 2f64.powi(at);
                    (jobs, law.throughput(jobs) * (1.0 + NOISE * random.normal()))
                };
                let found = ranges(&(0..steps).map(step).collect::<Vec<_>>()).unwrap();
                for (at, range) in [found.peak, found.knee].into_iter().enumerate() {
                    let is_below = range.high.is_none_or(|high| truth[at] <= high);
                    held[at] += usize::from(range.low <= truth[at] && is_below);
                    ended[at] += usize::from(range.high.is_some());
                }
            }
            let share = |count: usize| count as f64 / RAMPS as f64;
            let (held, ended) = (held.map(share), ended.map(share));
            println!("{law:?}, {steps} steps: {held:.3?}, with an end {ended:.2?}");
            assert!(held.iter().all(|share| *share >= least), "{law:?}, {steps}: {held:.3?}");
            // One that leaves everything possible would cover, too.
            assert!(steps < 6 || ended[1] > 0.9, "{law:?}: {ended:.2?}");
        }
    }
}

/// A test whose only window has these seconds.
fn of_seconds(rates: &[f64]) -> Test {
    let interval = mean_interval(rates);
    let fraction = interval.and_then(|interval| interval.fraction());
    TestResult {
        window_s: rates.len() as f64,
        ci_fraction: fraction,
        ci_freedom: interval.map(|interval| interval.freedom),
        ..fixture_test()
    }
    .into()
}

#[test]
fn two_equal_windows_differ_in_one_comparison_of_twenty_at_most() {
    for (memory, seconds) in [0.0, 0.3, 0.5, 0.7].into_iter().flat_map(|m| [(m, 10), (m, 60)]) {
        let mut random = Random(5);
        let (mut alarms, tries) = (0, 300);
        for _ in 0..tries {
            let mut side = || {
                let (rates, _) = Noise::Alike(memory).window(seconds, &mut random);
                let interval = interval::of_test(&of_seconds(&rates), &KpmValue::Ops);
                UncertainValue { value: mean(&rates), interval }
            };
            let ratio = Ratio::new(side(), side());
            let is_found = ratio.span.is_ok_and(|span| span.p < 0.05);
            let differs = matches!(ratio.change(Better::Higher), Change::Better | Change::Worse);
            alarms += usize::from(is_found || differs);
        }
        assert!(alarms * 20 <= tries, "memory {memory}, {seconds} s: {alarms} of {tries}");
    }
}

/// A test whose KPM is a counter of the database that comes up to a second late.
fn of_counter(noise: Noise, seconds: usize, random: &mut Random) -> TestResult {
    let (rates, _) = noise.window(seconds + 1, random);
    // What had been counted when the sample was taken: the seconds before it and a part of its own.
    let counted: Vec<f64> = (0..=seconds)
        .map(|at| rates[..at].iter().sum::<f64>() + random.uniform() * rates[at])
        .collect();
    let point = |at: usize| SeriesPoint {
        t_s: at as f64 + 1.0,
        interval_s: 1.0,
        in_window: true,
        ops: 100.0,
        metrics: Counters([("blocks".to_owned(), counted[at + 1] - counted[at])].into()).into(),
        ..SeriesPoint::default()
    };
    let count: f64 = rates[1..].iter().sum();
    let mut result = TestResult {
        series: (0..seconds).map(point).collect(),
        counters: Counters([("blocks".to_owned(), count)].into()),
        kpm: Kpm {
            value: KpmValue::Counter("blocks".into()),
            unit: "dbps".into(),
            better: Better::Higher,
            scale: 1.0,
        },
        second: None,
        total: Tally { ops: 100 * seconds as u64, ..Tally::default() },
        window: Tally { ops: 100 * seconds as u64, ..Tally::default() },
        ops_per_s: 100.0,
        window_s: seconds as f64,
        total_s: seconds as f64,
        ci_fraction: Some(0.0001),
        ..fixture_test()
    };
    fill(&mut result);
    result
}

#[test]
fn a_counter_has_the_interval_of_its_own_seconds_or_none() {
    for (memory, seconds) in [0.0, 0.5, 0.9].into_iter().flat_map(|m| [(m, 10), (m, 20), (m, 60)]) {
        let (mut random, mut found) = (Random(seconds as u64), Coverage::default());
        for _ in 0..300 {
            let result = of_counter(Noise::Alike(memory), seconds, &mut random);
            let value = result.kpm_value.unwrap();
            let kpm = result.kpm.value.clone();
            let known = interval::of_test(&result.into(), &kpm).ok();
            found.count(value, RATE, known.map(|interval| interval.half_width()));
        }
        let (share, absent) = (found.share(), found.absent_share());
        println!(
            "counter, {memory}, {seconds} s: {share:.3}, absent {absent:.2}, +-{:.2} %",
            found.median_half_width()
        );
        assert!(share >= LEAST, "{memory}, {seconds} s: {share}");
        // Ten seconds of a late counter are mostly too few, sixty never.
        let most_absent = if seconds == 60 { 0.01 } else { 0.9 };
        assert!(absent <= most_absent, "{memory}, {seconds} s: {absent} absent");
    }
}

#[test]
fn two_equal_tests_whose_counter_differs_are_no_finding() {
    // As measured: ops per second alike, +-1 %; 135 and 71 blocks written per second in two equal
    // tests of one server.
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let mut ids = Vec::new();
    for (name, blocks) in [("first", 135.0), ("second", 71.0)] {
        let run = RunRecord { name: Some(name.into()), ..fixture::run() };
        let id = store.begin_run(&run).unwrap();
        let kpm = Kpm {
            value: KpmValue::Counter("blocks_written".into()),
            unit: "dbps".into(),
            better: Better::Higher,
            scale: 1.0,
        };
        let test = TestResult {
            kpm,
            kpm_value: Some(blocks),
            second: None,
            second_value: None,
            ci_fraction: Some(0.01),
            ..fixture_test()
        };
        let known = interval::of_test(&test.clone().into(), &test.kpm.value);
        assert_eq!(known, Err(Unknown::Counter));
        store.save_test(id, &test).unwrap();
        ids.push(id);
    }
    let done = desk.run("compare first second --fail-below 5%").ok();
    assert!(done.stderr.contains("undecided"), "{}", done.stderr);
}
