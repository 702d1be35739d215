//! Pairs: ours and the peer in turns, and which pairs count.

use dbdyno::error::Result;
use dbdyno::stats::summary::{mean, median, t95, variance};

use super::interrupt;
use super::machine::{Meter, Usage};

/// A comparison gives up after this many tries per pair wanted.
const TRIES_PER_PAIR: usize = 3;

/// A ratio by processor time is looked at for its precision after so many pairs.
const MIN_PAIRS: usize = 8;

/// Required precision of a ratio.
#[derive(Debug, Clone, Copy)]
pub struct Precision {
    /// Half width of its 95 % interval, as a fraction of it.
    pub half_width: f64,
    /// After so many pairs it is left as it is.
    pub most_pairs: usize,
}

/// A ratio and half the width of its 95 % interval, as a fraction of it.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub ratio: f64,
    pub half_width: f64,
}

/// Numbers of jobs, and how long each is measured.
#[derive(Debug, Clone, Copy)]
pub struct Ramp<'a> {
    pub jobs: &'a [u32],
    pub seconds: f64,
}

/// Rules for counting a pair, and the number of pairs wanted.
pub struct Rules {
    pub pairs: usize,
    /// Largest share of the processors that steal, and that other programs, may have taken in
    /// either half.
    pub taken: f64,
    /// The server whose processor time is measured.
    pub server_pid: Option<u32>,
}

/// Work of one side in its half.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// In the comparison's unit.
    pub rate: f64,
    /// Ops of the whole half, warm-up included; absent where processor time per op says nothing.
    pub ops: Option<f64>,
    /// Processor time of the server within the window, in us per op, of a side that knows it: that
    /// of the whole half has the session, the warm-up and the end in it.
    pub window_server_us: Option<f64>,
}

impl Done {
    /// A half whose processor time is that of the whole.
    pub fn new(rate: f64, ops: Option<f64>) -> Self {
        Done { rate, ops, window_server_us: None }
    }
}

/// Two sides.
pub struct Comparison<'a> {
    pub name: String,
    pub unit: &'static str,
    /// Least ratio of the rates, ours to the peer's; absent where the two sides do different work.
    pub target: Option<f64>,
    pub ours: &'a mut dyn FnMut() -> Result<Done>,
    pub peer: &'a mut dyn FnMut() -> Result<Done>,
}

/// One half as measured.
#[derive(Debug, Clone, Copy)]
pub struct Half {
    pub rate: f64,
    pub client_us: Option<f64>,
    pub server_us: Option<f64>,
}

/// A pair that counts.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub ours: Half,
    pub peer: Half,
}

/// Process whose CPU time is counted.
pub struct Processor {
    whose: &'static str,
    /// Microseconds per op.
    us: fn(&Half) -> Option<f64>,
}

pub const CLIENT: Processor = Processor { whose: "the client", us: |half| half.client_us };
pub const SERVER: Processor = Processor { whose: "the server", us: |half| half.server_us };
pub const CLIENT_AND_SERVER: Processor =
    Processor { whose: "client and server", us: |half| Some(half.client_us? + half.server_us?) };

/// A comparison, done.
pub struct Outcome {
    pub name: String,
    pub unit: &'static str,
    pub target: Option<f64>,
    pub pairs: Vec<Pair>,
    pub dropped: usize,
    /// The target is for the estimate, not for the median.
    pub is_estimated: bool,
    /// The ratio may be as far above 1 as the target allows below.
    pub is_two_sided: bool,
}

impl Outcome {
    /// Geometric mean of the ratios with Student's interval of their logarithms; absent with fewer
    /// than two pairs.
    pub fn estimate(&self) -> Option<Estimate> {
        let logs: Vec<f64> = self.ratios().iter().map(|ratio| ratio.ln()).collect();
        let count = logs.len() as f64;
        let error = (variance(&logs)? / count).sqrt();
        Some(Estimate { ratio: mean(&logs)?.exp(), half_width: t95(count - 1.0)? * error })
    }
    /// Median of a figure of ours or of the peer; absent if no pair counts or it is unknown.
    pub fn median(&self, figure: impl Fn(&Pair) -> Option<f64>) -> Option<f64> {
        median(&self.pairs.iter().filter_map(figure).collect::<Vec<_>>())
    }
    /// Median of the ratios; absent if no pair counts.
    pub fn ratio(&self) -> Option<f64> {
        median(&self.ratios())
    }
    /// The same pairs by ops per second of processor time. It says what the work costs, not how
    /// fast it is: time spent waiting is not in it. Other programs distort it less than the clock's
    /// ratio.
    pub fn by_processor(&self, processor: &Processor, unit: &'static str) -> Outcome {
        let rate = |half: &Half| (processor.us)(half).map_or(f64::NAN, |us| 1e6 / us);
        let half = |half: &Half| Half { rate: rate(half), ..*half };
        let pairs =
            self.pairs.iter().map(|pair| Pair { ours: half(&pair.ours), peer: half(&pair.peer) });
        let name = format!("the same by processor time of {}", processor.whose);
        let pairs = pairs.collect();
        Outcome { name, unit, target: None, pairs, ..Outcome::empty(self.dropped) }
    }
    fn empty(dropped: usize) -> Outcome {
        Outcome {
            name: String::new(),
            unit: "",
            target: None,
            pairs: Vec::new(),
            dropped,
            is_estimated: false,
            is_two_sided: false,
        }
    }
    /// Ratios of the rates, in ascending order.
    pub fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> =
            self.pairs.iter().map(|pair| pair.ours.rate / pair.peer.rate).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

/// Runs the comparison. Every other pair begins with the peer, so that neither side is always the
/// second.
pub fn interleave(rules: &Rules, mut comparison: Comparison<'_>) -> Result<Outcome> {
    let Comparison { name, unit, target, .. } = &comparison;
    let mut outcome = Outcome { name: name.clone(), unit, target: *target, ..Outcome::empty(0) };
    eprintln!("{name}");
    for number in 0..rules.pairs * TRIES_PER_PAIR {
        if outcome.pairs.len() == rules.pairs {
            break;
        }
        add_pair(rules, &mut comparison, number, &mut outcome)?;
    }
    Ok(outcome)
}

/// Runs the comparison until the ratio by processor time of client and server is as precise as is
/// wanted: by the clock, and by processor time, which the target is for.
pub fn interleave_until(
    rules: &Rules,
    precision: Precision,
    mut comparison: Comparison<'_>,
) -> Result<[Outcome; 2]> {
    let Comparison { name, unit, target, .. } = &comparison;
    let mut by_clock = Outcome { name: name.clone(), unit, ..Outcome::empty(0) };
    let target = *target;
    eprintln!("{name}");
    // An embedded engine has no other process.
    let whose = if rules.server_pid.is_some() { &CLIENT_AND_SERVER } else { &CLIENT };
    let by_processor = |by_clock: &Outcome| {
        let outcome = by_clock.by_processor(whose, "ops/CPU s");
        Outcome { target, is_estimated: true, ..outcome }
    };
    for number in 0..precision.most_pairs * TRIES_PER_PAIR {
        let estimate = by_processor(&by_clock).estimate();
        let is_known = estimate.is_some_and(|one| one.half_width <= precision.half_width);
        let pairs = by_clock.pairs.len();
        if pairs >= precision.most_pairs || pairs >= MIN_PAIRS && is_known {
            break;
        }
        add_pair(rules, &mut comparison, number, &mut by_clock)?;
    }
    let by_processor = by_processor(&by_clock);
    Ok([by_clock, by_processor])
}

/// Runs a pair; it is kept if it counts.
fn add_pair(
    rules: &Rules,
    comparison: &mut Comparison<'_>,
    number: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    let ((ours, our_usage), (peer, peer_usage)) = run_pair(rules, comparison, number % 2 == 1)?;
    let counts =
        [our_usage, peer_usage].iter().all(|usage| usage.steal.max(usage.others) <= rules.taken);
    report(&ours, &peer, &our_usage, &peer_usage, counts);
    if counts {
        outcome.pairs.push(Pair { ours, peer });
    } else {
        outcome.dropped += 1;
    }
    Ok(())
}

type Measured = (Half, Usage);

fn run_pair(
    rules: &Rules,
    comparison: &mut Comparison<'_>,
    peer_first: bool,
) -> Result<(Measured, Measured)> {
    if peer_first {
        let peer = half(rules, comparison.peer)?;
        return Ok((half(rules, comparison.ours)?, peer));
    }
    let ours = half(rules, comparison.ours)?;
    Ok((ours, half(rules, comparison.peer)?))
}

fn half(rules: &Rules, side: &mut dyn FnMut() -> Result<Done>) -> Result<Measured> {
    interrupt::check()?;
    let meter = Meter::start(rules.server_pid)?;
    let done = side()?;
    let usage = meter.usage()?;
    let per_op_us = |seconds: f64| done.ops.map(|ops| seconds * 1e6 / ops.max(1.0));
    let of_half = rules.server_pid.and_then(|_| per_op_us(usage.server_s));
    let server_us = done.window_server_us.or(of_half);
    Ok((Half { rate: done.rate, client_us: per_op_us(usage.client_s), server_us }, usage))
}

fn report(ours: &Half, peer: &Half, our_usage: &Usage, peer_usage: &Usage, counts: bool) {
    let percent = |share: fn(&Usage) -> f64| 100.0 * share(our_usage).max(share(peer_usage));
    eprintln!(
        "  {:>12.0} : {:<12.0} = {:.3}   steal {:.1} %, others {:.1} %{}",
        ours.rate,
        peer.rate,
        ours.rate / peer.rate,
        percent(|usage| usage.steal),
        percent(|usage| usage.others),
        if counts { "" } else { "   dropped" }
    );
}
