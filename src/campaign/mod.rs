//! A whole run: open the platform, load, verify, measure test by test, judge and store each, close.
//!
//! Nothing is printed here: whoever watches gets [`Event`]s.

pub mod answers;
pub mod estimate;
pub mod events;
pub mod failed;
pub mod measure;
pub mod platform;
pub mod probing;
pub mod run;

pub use events::{Event, Sink};
pub use platform::{Keep, Platform, PlatformRequest};
pub use run::{Campaign, Ended, run};
