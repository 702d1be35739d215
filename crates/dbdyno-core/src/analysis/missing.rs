//! The reason for a figure that cannot be had.

use crate::model::Sentence;

/// Reason for a figure that is absent because its counter `name` is.
pub(super) fn not_known(name: &str) -> Sentence {
    Sentence::new("{name} is not known here").with("name", name)
}
