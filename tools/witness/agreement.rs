//! A figure of ours beside the same figure of a witness.

use dbdyno::model::Drive;

/// Times of two clocks agree within this fraction; what is beyond needs a reason.
pub const TIME_FRACTION: f64 = 0.03;

/// Subject of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub engine: &'static str,
    pub workload: &'static str,
    pub drive: Drive,
}

/// Allowed distance of a witness from us.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Both count the same events.
    Equal,
    /// The witness counts up to so many less or more than we do, for the reason given.
    Within(f64, &'static str),
    /// Times: within [`TIME_FRACTION`], or further away for the reason given.
    Time(&'static str),
}

/// Two figures of the same thing.
#[derive(Debug, Clone)]
pub struct Agreement {
    pub subject: Subject,
    /// ops, rows, commits, ...
    pub figure: &'static str,
    pub ours: f64,
    /// Witness that also counted or timed it.
    pub witness: &'static str,
    pub theirs: f64,
    pub bound: Bound,
}

impl Agreement {
    /// The witness less ours, as a fraction of ours; 0 if both are 0.
    pub fn difference(&self) -> f64 {
        if self.theirs == self.ours { 0.0 } else { (self.theirs - self.ours) / self.ours }
    }

    /// True if the bound is kept. A time that is further away does not break it: its reason is
    /// printed.
    pub fn holds(&self) -> bool {
        match self.bound {
            Bound::Equal => self.theirs == self.ours,
            Bound::Within(most, _) => (self.theirs - self.ours).abs() <= most,
            Bound::Time(_) => self.theirs > 0.0 && self.ours > 0.0,
        }
    }

    /// Reason for a difference of the two that needs one.
    pub fn reason(&self) -> Option<&'static str> {
        match self.bound {
            Bound::Within(_, reason) if self.theirs != self.ours => Some(reason),
            Bound::Time(reason) if self.difference().abs() > TIME_FRACTION => Some(reason),
            _ => None,
        }
    }
}

/// A figure of a witness.
#[derive(Debug, Clone, Copy)]
pub struct Witnessed {
    pub by: &'static str,
    pub value: f64,
}

impl Witnessed {
    pub fn new(by: &'static str, value: f64) -> Witnessed {
        Witnessed { by, value }
    }
}

/// The agreements of one subject, one after the other.
pub struct Report<'a> {
    pub subject: Subject,
    pub agreements: &'a mut Vec<Agreement>,
}

impl Report<'_> {
    /// Ours beside a witness that counts the same events.
    pub fn equal(&mut self, figure: &'static str, ours: u64, witness: &'static str, theirs: u64) {
        self.add(figure, ours as f64, Witnessed::new(witness, theirs as f64), Bound::Equal);
    }

    /// Ours beside a witness.
    pub fn add(&mut self, figure: &'static str, ours: f64, theirs: Witnessed, bound: Bound) {
        let (subject, Witnessed { by: witness, value: theirs }) = (self.subject.clone(), theirs);
        self.agreements.push(Agreement { subject, figure, ours, witness, theirs, bound });
    }
}
