//! Verdicts: whether a number means what it says, with the reasons.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sentence::Sentence;

/// Trust in a KPM. Ordered: the worst reason decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Sentences, ranks and colors may rest on the figure.
    Valid,
    /// The figure has a restricted meaning, which the reasons state.
    Conditional,
    /// The figure does not measure what it claims to.
    Invalid,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Valid => "valid",
            Status::Conditional => "conditional",
            Status::Invalid => "invalid",
        })
    }
}

/// Codes of reasons with their documentation: the enum, its list and its names are made from one
/// table.
macro_rules! reason_codes {
    ($($(#[$about:meta])* $name:ident = $code:literal,)*) => {
        /// Reason of a verdict as a stable short code. The rules are in METHODOLOGY.md.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum ReasonCode {
            $($(#[$about])* $name,)*
            /// Code of a claim in a user's own catalog, or of another version.
            Other(String),
        }

        impl ReasonCode {
            /// Every code that dbdyno gives.
            pub const ALL: &'static [ReasonCode] = &[$(ReasonCode::$name),*];

            /// Code as stored.
            pub fn as_str(&self) -> &str {
                match self {
                    $(ReasonCode::$name => $code,)*
                    ReasonCode::Other(code) => code,
                }
            }
        }
    };
}

reason_codes! {
    /// dbdyno's counts differ from the counters of the database.
    Crosscheck = "crosscheck",
    /// A counter contradicts what the workload claims to stress.
    Contract = "contract",
    /// Ops failed.
    Errors = "errors",
    /// Little's law is violated: throughput, jobs and service time do not fit together.
    Little = "little",
    /// The mean of the timed ops differs from that of all ops.
    Sampling = "sampling",
    /// The clock that timed the ops is coarse compared with the median.
    Clock = "clock",
    /// Commits do not wait for durable storage.
    Durability = "durability",
    /// Commits were faster than the device makes writes durable.
    Implausible = "implausible",
    /// The rate cannot be sustained: the database deferred work, such as the checkpoint.
    Burst = "burst",
    /// The hypervisor took CPU time from the host.
    Steal = "steal",
    /// A CPU quota of a control group stopped the database or dbdyno.
    CpuQuota = "cpu-quota",
    /// Other processes or sessions used CPU time or the device.
    ForeignLoad = "foreign-load",
    /// The CPUs were slower than at the start of the run.
    PlatformUnsteady = "platform-unsteady",
    /// The process of dbdyno itself was the bottleneck.
    ClientLimit = "client-limit",
    /// The network round trip takes half of an op or more.
    Network = "network",
    /// Throughput drifts over the window.
    NotSteady = "not-steady",
    /// The window has too few ops.
    Samples = "samples",
    /// The window ended before the interval was as narrow as asked for.
    Precision = "precision",
    /// Given to a figure, not to a test.
    Wide = "wide",
    /// Ops that were due in an open loop were not done.
    Overload = "overload",
    /// A background workload or the other side of a duet ran concurrently.
    Beside = "beside",
    /// The repetitions disagree.
    Repetitions = "repetitions",
    /// Reads that should come from the device came from a cache or from an unknown source.
    Tier = "tier",
    /// Fewer processes than asked for worked on an op.
    Threads = "threads",
    /// Jobs of a workload that is to make them wait for one another did not wait.
    NoContention = "no-contention",
    /// An approximate search found too few of what it was to find.
    Recall = "recall",
    /// Throughput at the end of a test is only a fraction of that at its begin.
    Collapse = "collapse",
    /// A clock was set during the test.
    ClockStep = "clock-step",
    /// Instruments of the server or of the library slow the ops down.
    Instruments = "instruments",
    /// dbdyno's own clock reads affect the figures.
    TimingCost = "timing-cost",
    /// The user cut the window short.
    Interrupted = "interrupted",
    /// The test ended in an error before anything was measured.
    Failed = "failed",
    /// A load generator of several is gone.
    WorkerLost = "worker-lost",
    /// A node of a cluster was lost during the test.
    NodeLost = "node-lost",
    /// All nodes of a cluster are on one host.
    SharedHost = "shared-host",
    /// Flow control of a cluster held up the writers of a node.
    FlowControl = "flow-control",
    /// The figures are of what others did, stored by `monitor --record`.
    Recorded = "recorded",
    /// The version of the engine is not confirmed; this is not about the test itself.
    UnconfirmedEngine = "unconfirmed-engine",
    /// The figures are those of scripts that ran without this program.
    Scripts = "scripts",
    /// A claim could not be checked, or nothing could be cross-checked.
    Unchecked = "unchecked",
    /// Given to a heatmap's cell only, as the next three: it compares one drive with the other.
    Drive = "drive",
    /// The comparison is between measured and published figures.
    Origin = "origin",
    /// The comparison is between two revisions of a workload.
    Revision = "revision",
    /// It compares what was measured on data of one size with another.
    DataSize = "data-size",
    /// Given to a figure: it is the best valid one of a ramp that has a better one, which is
    /// conditional.
    PassedOver = "passed-over",
    /// The figure is printed, not measured by dbdyno.
    Published = "published",
    /// The source states no figure that is a KPM.
    NoKpm = "no-kpm",
    /// The source gives only the ends of a range.
    Bound = "bound",
    /// The source contradicts itself.
    Misprint = "misprint",
    /// The figure was read from the source, but cannot be proven.
    Doubtful = "doubtful",
    /// The published platform could do more.
    LowerBound = "lower-bound",
    /// The printed figure is inconsistent or untypical.
    Caution = "caution",
    /// The source states the figure as a rounded one.
    Approximate = "approximate",
    /// Digits were recovered by arithmetic or from a second place of the source.
    Restored = "restored",
    /// The metric is not that of the other figures of the workload.
    Unit = "unit",
    /// The figures of a publication show the resolution of its clock, not the platforms.
    TimingFloor = "timing-floor",
    /// CPU use contradicts the number of CPUs that the publication prints.
    PlatformTable = "platform-table",
}

impl From<String> for ReasonCode {
    fn from(code: String) -> Self {
        let known = ReasonCode::ALL.iter().find(|known| known.as_str() == code).cloned();
        known.unwrap_or(ReasonCode::Other(code))
    }
}

impl From<ReasonCode> for String {
    fn from(code: ReasonCode) -> Self {
        code.as_str().to_string()
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One reason of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Verdict for this reason alone.
    pub status: Status,
    /// Code of the rule that gave the reason.
    pub code: ReasonCode,
    /// One sentence with the figures, in English.
    pub text: String,
    /// The same sentence with its values by name, for other languages; results of older versions
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<Sentence>,
}

impl Reason {
    /// A reason; its sentence holds the figures.
    pub fn new(status: Status, code: ReasonCode, sentence: impl Into<Sentence>) -> Self {
        let sentence = sentence.into();
        Reason { status, code, text: sentence.to_string(), sentence: Some(sentence) }
    }

    /// Sentence of the reason; the text if the result is of an older version.
    pub fn to_sentence(&self) -> Sentence {
        self.sentence.clone().unwrap_or_else(|| Sentence::quoted(self.text.as_str()))
    }

    /// The reason as one of a part of a mixed workload.
    pub fn of_part(self, part: &str) -> Self {
        Reason::new(self.status, self.code.clone(), self.to_sentence().of_part(part))
    }
}

/// The verdict on a test's KPMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst of the reasons; valid without any.
    pub status: Status,
    /// Reasons that lowered the verdict, worst first; then notes (status valid) that did not.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The verdict that follows from `reasons`: the worst of them; valid if there are none.
    pub fn from_reasons(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.status));
        let status = reasons.first().map_or(Status::Valid, |worst| worst.status);
        Verdict { status, reasons }
    }

    /// The first reason that lowers the verdict and is the effect of other processes on the
    /// machine, whatever other reasons there are.
    pub fn disturbance(&self) -> Option<&Reason> {
        use ReasonCode::{ForeignLoad, PlatformUnsteady, Steal};
        let mut against = self.reasons.iter().filter(|reason| reason.status != Status::Valid);
        against.find(|reason| matches!(reason.code, Steal | ForeignLoad | PlatformUnsteady))
    }

    /// True if there is a reason that counts as a disturbance in every report.
    pub fn has_disturbance(&self) -> bool {
        self.disturbance().is_some()
    }

    /// True if all that lowers the verdict came from outside the test, so that another one may be
    /// spared.
    pub fn is_disturbed(&self) -> bool {
        use ReasonCode::{ForeignLoad, PlatformUnsteady, Steal, UnconfirmedEngine};
        let against = self.reasons.iter().filter(|reason| reason.status != Status::Valid);
        let mut of_test = against.filter(|reason| reason.code != UnconfirmedEngine).peekable();
        of_test.peek().is_some()
            && of_test.all(|reason| matches!(reason.code, Steal | ForeignLoad | PlatformUnsteady))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_decides_and_stands_first() {
        let reason = |status, code| Reason::new(status, code, "");
        let verdict = Verdict::from_reasons(vec![
            reason(Status::Valid, ReasonCode::Sampling),
            reason(Status::Invalid, ReasonCode::Errors),
            reason(Status::Conditional, ReasonCode::Steal),
        ]);
        assert_eq!(verdict.status, Status::Invalid);
        assert_eq!(verdict.reasons[0].code, ReasonCode::Errors);
        assert_eq!(Verdict::from_reasons(vec![]).status, Status::Valid);
    }
    #[test]
    fn a_test_is_disturbed_if_nothing_else_is_said_against_it() {
        let disturbed = |codes: &[(Status, ReasonCode)]| {
            let reasons =
                codes.iter().map(|(status, code)| Reason::new(*status, code.clone(), "")).collect();
            Verdict::from_reasons(reasons).is_disturbed()
        };
        let (steal, note) =
            ((Status::Conditional, ReasonCode::Steal), (Status::Valid, ReasonCode::Sampling));
        assert!(disturbed(&[
            steal.clone(),
            note.clone(),
            (Status::Conditional, ReasonCode::PlatformUnsteady)
        ]));
        assert!(!disturbed(&[steal, (Status::Conditional, ReasonCode::Burst)]));
        assert!(!disturbed(&[note]) && !disturbed(&[]));
    }
    #[test]
    fn codes_are_stored_as_their_names_and_unknown_ones_are_kept() {
        for code in ["steal", "no-kpm", "of-our-own"] {
            let reason = format!(r#"{{"status":"valid","code":"{code}","text":"as ever"}}"#);
            let read: Reason = serde_json::from_str(&reason).unwrap();
            assert_eq!(matches!(read.code, ReasonCode::Other(_)), code == "of-our-own");
            assert_eq!(serde_json::to_string(&read).unwrap(), reason);
        }
    }
    #[test]
    fn methodology_has_a_rule_for_each_code_and_no_other() {
        let tables = include_str!("../../../../METHODOLOGY.md")
            .split("| reason | status | rule | example |")
            .skip(1);
        let rows = tables.flat_map(|table| {
            table
                .trim_start()
                .lines()
                .take_while(|line| line.starts_with("| ") || line.starts_with("|-"))
        });
        let mut documented: Vec<&str> =
            rows.filter_map(|row| row.strip_prefix("| ")?.split(" |").next()).collect();
        let mut known: Vec<&str> = ReasonCode::ALL.iter().map(ReasonCode::as_str).collect();
        documented.sort_unstable();
        known.sort_unstable();
        assert_eq!(documented, known);
    }
}
