//! The clock of a slice.

use std::time::Instant;

/// Nanoseconds since the slice began.
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Clock(Instant::now())
    }

    #[inline]
    pub(super) fn ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// Start, in ns since `earlier`.
    pub(super) fn since(&self, earlier: Instant) -> u64 {
        self.0.duration_since(earlier).as_nanos() as u64
    }
}
