//! Reasons that follow from how a test came about, and not from its figures: it was cut short, it
//! failed, nobody observed it, or others did the work.

use crate::model::{Reason, ReasonCode, Sentence, Status};

/// Reason of a test whose window the user cut short after `after_s`.
pub fn interruption_reason(after_s: f64) -> Reason {
    let sentence = Sentence::new("interrupted: the window was cut short after {after.1} s");
    Reason::new(Status::Conditional, ReasonCode::Interrupted, sentence.with("after", after_s))
}

/// Reason of a test that ended in an error: `code` is the kind of loss, and `error` the message.
pub fn failure_reason(code: ReasonCode, error: &str) -> Reason {
    Reason::new(Status::Invalid, code, Sentence::quoted(error))
}

/// The reason of a test of a duet: the other platform had its jobs at the same time.
pub(super) fn of_duet() -> Reason {
    let text = "the other side of the duet ran at the same time, each on half of the CPUs: only \
                their ratio counts, and the host's counters are those of both";
    Reason::new(Status::Conditional, ReasonCode::Beside, text)
}

/// Reason of every test on a version of an engine that is not confirmed.
pub fn unconfirmed_reason(product: &str, version: &str) -> Reason {
    let sentence = Sentence::new("dbdyno has not been tested with {product} {version}")
        .with("product", product)
        .with("version", version);
    Reason::new(Status::Conditional, ReasonCode::UnconfirmedEngine, sentence)
}

/// The reason of every test of scripts that ran without this program.
pub(super) fn of_scripts() -> Reason {
    let text = "run by plain scripts: the host, other processes and caches were not observed";
    Reason::new(Status::Conditional, ReasonCode::Scripts, text)
}

/// The reason of a test of scripts whose SQL has another hash than that of this version.
pub(super) fn of_other_sql(theirs: &str, ours: &str) -> Reason {
    let other = "the scripts' SQL ({theirs}) is not that of this version ({ours}): its claims may \
                 be about another work";
    let sentence = Sentence::new(other).with("theirs", theirs).with("ours", ours);
    Reason::new(Status::Conditional, ReasonCode::Scripts, sentence)
}

/// Reason of a recording: it is unknown how much the recorded clients could have done, so that it
/// supports no statement about the platform.
pub fn recording_reason() -> Reason {
    let text = "what others did, recorded: not what the platform can do";
    Reason::new(Status::Conditional, ReasonCode::Recorded, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unconfirmed_version_is_named() {
        let reason = unconfirmed_reason("Product", "10.1.48");
        assert_eq!(reason.code, ReasonCode::UnconfirmedEngine);
        assert_eq!(reason.text, "dbdyno has not been tested with Product 10.1.48");
        assert_eq!(reason.status, Status::Conditional);
    }

    #[test]
    fn the_message_of_an_error_is_quoted_as_it_is() {
        let reason = failure_reason(ReasonCode::Failed, "T: {no} placeholder");
        assert_eq!((reason.status, reason.text.as_str()), (Status::Invalid, "T: {no} placeholder"));
    }

    #[test]
    fn a_cut_window_is_conditional_and_says_how_long_it_was() {
        let reason = interruption_reason(2.345);
        assert_eq!(reason.text, "interrupted: the window was cut short after 2.3 s");
        assert_eq!(reason.status, Status::Conditional);
    }
}
