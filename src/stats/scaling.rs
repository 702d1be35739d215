//! The Universal Scalability Law (being written).

/// A fitted law.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit;

/// Fits the law.
pub fn fit(_points: &[(f64, f64)]) -> Option<Fit> {
    None
}
