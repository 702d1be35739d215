//! The null engine's statements: directives separated by commas.
//!
//! | directive | what a run of the statement does |
//! |---|---|
//! | `spin NS` | keeps the CPU busy for NS nanoseconds; 0 costs nothing, not even a clock read |
//! | `wait NS` | waits NS nanoseconds without a processor |
//! | `rows N` | returns N rows (default 1) |
//! | `slow NS every K` | spins NS nanoseconds more in every K-th run |
//! | `fail CLASS every K` | fails with that class (`deadlock`, `busy`, ...) in every K-th run |
//! | `lost after K` | the connection is lost in the run after K good ones |

use std::str::FromStr;
use std::time::{Duration, Instant};

use super::{class, ordered_failure, wrong};
use crate::engine::{EngineError, ErrorClass};

/// A statement, read once and run often.
#[derive(Debug, Clone, PartialEq)]
pub struct Directives {
    spin: Duration,
    wait: Duration,
    rows: u64,
    slow: Option<(Duration, u64)>,
    fail: Option<(ErrorClass, u64)>,
    lost_after: u64,
    /// Runs so far.
    runs: u64,
}

impl Default for Directives {
    fn default() -> Self {
        let (spin, wait) = (Duration::ZERO, Duration::ZERO);
        Directives { spin, wait, rows: 1, slow: None, fail: None, lost_after: u64::MAX, runs: 0 }
    }
}

impl FromStr for Directives {
    type Err = EngineError;

    /// Reads the directives; an empty text is a statement that costs nothing and returns one row.
    fn from_str(text: &str) -> Result<Self, EngineError> {
        let mut read = Directives::default();
        for directive in text.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
            let words: Vec<_> = directive.split_whitespace().collect();
            match words.as_slice() {
                ["spin", ns] => read.spin = Duration::from_nanos(number(ns)?),
                ["wait", ns] => read.wait = Duration::from_nanos(number(ns)?),
                ["rows", rows] => read.rows = number(rows)?,
                ["slow", ns, "every", every] => {
                    read.slow = Some((Duration::from_nanos(number(ns)?), number(every)?))
                }
                ["fail", name, "every", every] => read.fail = Some((class(name)?, number(every)?)),
                ["lost", "after", runs] => read.lost_after = number(runs)?,
                _ => return Err(wrong(format!("'{directive}'"))),
            }
        }
        Ok(read)
    }
}

fn number(text: &str) -> Result<u64, EngineError> {
    text.parse().map_err(|_| wrong(format!("the number '{text}'")))
}

impl Directives {
    /// Runs the statement once and returns its rows.
    ///
    /// # Errors
    /// The errors of `fail` and `lost`.
    #[inline]
    pub fn run(&mut self) -> Result<u64, EngineError> {
        self.runs += 1;
        if self.runs > self.lost_after {
            return Err(ordered_failure(ErrorClass::Lost));
        }
        if let Some((class, every)) = self.fail
            && self.runs.is_multiple_of(every)
        {
            return Err(ordered_failure(class));
        }
        if let Some((extra, every)) = self.slow
            && self.runs.is_multiple_of(every)
        {
            spin(extra);
        }
        spin(self.spin);
        if !self.wait.is_zero() {
            std::thread::sleep(self.wait);
        }
        Ok(self.rows)
    }
}

/// Keeps this CPU busy, as a database would.
#[inline]
fn spin(time: Duration) {
    if time.is_zero() {
        return;
    }
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
