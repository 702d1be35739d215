//! A whole run: open the platform, load, verify, measure test by test, judge and store each, close.
//!
//! Nothing is printed here: whoever watches gets [`Event`]s.

pub mod answers;
pub mod estimate;
pub mod events;
pub mod evict;
mod failed;
pub mod measure;
pub mod overhead;
pub mod platform;
pub mod probing;
mod room;
pub mod run;

pub use answers::{Checked, check as check_answers};
pub use events::{Event, Sink};
pub use measure::host_cpus;
pub use platform::{Keep, Platform, PlatformRequest, is_there, remove_private};
pub use room::without_room;
pub use run::{
    Campaign, Ended, adapted, data_request, interruptible, lacking, load_with, make_site, run, standard_definition,
};
