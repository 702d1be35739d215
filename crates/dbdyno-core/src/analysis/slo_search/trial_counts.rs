//! Counts of trials at one rate by their outcome for an SLO: the one rule for the search and for
//! every other answer that rests on repetitions. Pure.

/// Numbers of trials at one rate, by their outcome for the SLO.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialCounts {
    /// Trials that met it.
    pub met: u32,
    /// Trials that missed it.
    pub missed: u32,
    /// Trials that are no evidence.
    pub unknown: u32,
}

impl TrialCounts {
    /// Counts trials, each by whether it met the SLO.
    pub fn new(trials: impl Iterator<Item = Option<bool>>) -> TrialCounts {
        let mut counts = TrialCounts::default();
        trials.for_each(|is_met| counts.add(is_met));
        counts
    }

    /// Counts one more.
    pub fn add(&mut self, is_met: Option<bool>) {
        let count = match is_met {
            Some(true) => &mut self.met,
            Some(false) => &mut self.missed,
            None => &mut self.unknown,
        };
        *count += 1;
    }

    /// True if every trial met the SLO, false if every one missed it. None if some met it and
    /// others missed it, or one is no evidence: then it is unknown whether the SLO is met at that
    /// rate.
    pub fn agreed(self) -> Option<bool> {
        match self {
            TrialCounts { met: 1.., missed: 0, unknown: 0 } => Some(true),
            TrialCounts { met: 0, missed: 1.., unknown: 0 } => Some(false),
            _ => None,
        }
    }

    /// True if some met it and others missed it.
    pub fn is_contradictory(self) -> bool {
        self.met > 0 && self.missed > 0
    }

    /// Number of all trials.
    pub fn all(self) -> u32 {
        self.met + self.missed + self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_at_a_rate_agree_or_nobody_knows() {
        let agreed = |trials: &[Option<bool>]| TrialCounts::new(trials.iter().copied()).agreed();
        assert_eq!(agreed(&[Some(true); 5]), Some(true));
        assert_eq!(agreed(&[Some(false); 5]), Some(false));
        assert_eq!(agreed(&[Some(true), Some(false), Some(true)]), None);
        assert_eq!(agreed(&[Some(true), None]), None);
        assert_eq!(agreed(&[Some(false), None]), None);
        assert_eq!(agreed(&[]), None);
        let mixed = TrialCounts::new([Some(true), Some(false), None].into_iter());
        assert_eq!((mixed.is_contradictory(), mixed.all()), (true, 3));
    }
}
