//! Ops that nobody timed: where only every n-th op is, a stall seldom meets one, and the longest op
//! would be missed.

/// Ops hide a stall if they take this long together, in ns, and so many times as long as usual.
const MIN_NS: u64 = 1_000_000;
const TIMES: u64 = 4;
/// Time in s that no round trip takes.
#[cfg(has_client)]
const MIN_BESIDE_S: f64 = 0.1;

/// Detector of stalls: mean time of a job's ops, and the longest of the untimed ones.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    /// Mean time of an op in the previous slice, in ns; 0 before the first one has ended.
    usual_ns: u64,
    longest_ns: u64,
}

impl Stalls {
    /// Records that `ops` untimed ops took `took_ns` in total. If that is far above the mean of the
    /// previous slice, one op is assumed to have stalled and the excess is attributed to it.
    #[inline]
    pub(super) fn record_untimed(&mut self, ops: u64, took_ns: u64) {
        let all_ns = ops * self.usual_ns;
        if took_ns > MIN_NS.max(TIMES * all_ns) && all_ns > 0 {
            self.longest_ns = self.longest_ns.max(took_ns - all_ns + self.usual_ns);
        }
    }

    /// Records that a call took `beside_s` longer than the ops in it: the server stalled before the
    /// first or after the last.
    #[cfg(has_client)]
    pub(super) fn record_around_call(&mut self, beside_s: f64) {
        if beside_s >= MIN_BESIDE_S {
            self.longest_ns = self.longest_ns.max((beside_s * 1e9) as u64);
        }
    }

    /// Ends a slice and returns its longest untimed op in ns; 0 if none stalled.
    pub(super) fn take_longest_ns(&mut self, ops: u64, elapsed_s: f64) -> u64 {
        self.usual_ns = ((elapsed_s * 1e9) as u64).checked_div(ops).unwrap_or(self.usual_ns);
        std::mem::take(&mut self.longest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_what_is_left_of_the_time_and_ordinary_ops_are_none() {
        let mut stalls = Stalls::default();
        stalls.record_untimed(10, 5_000_000_000);
        assert_eq!(stalls.take_longest_ns(1000, 0.01), 0, "nothing is usual yet");
        stalls.record_untimed(100, 1_100_000);
        stalls.record_untimed(99, 3_900_000);
        assert_eq!(
            stalls.take_longest_ns(1000, 0.01),
            0,
            "four times as long as usual is not a stall"
        );
        stalls.record_untimed(100, 501_000_000);
        stalls.record_untimed(100, 11_000_000);
        assert_eq!(stalls.take_longest_ns(1000, 0.01), 500_010_000);
        assert_eq!(stalls.take_longest_ns(1000, 0.01), 0, "each slice has its own");
        stalls.record_around_call(0.02);
        assert_eq!(stalls.take_longest_ns(1000, 0.01), 0, "a round trip");
        stalls.record_around_call(0.9);
        assert_eq!(stalls.take_longest_ns(1000, 0.01), 900_000_000);
    }
}
