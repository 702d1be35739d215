//! The words of the project as types: no I/O, no SQL, no clock.
//!
//! One file per word of the glossary; see `ARCHITECTURE.md` for who may import this layer (everyone).

mod blank;
pub mod counters;
pub mod disclosure;
pub mod effect;
pub mod expr;
pub mod kpm;
pub mod params;
pub mod plan;
pub mod published;
pub mod result;
pub mod rows;
pub mod target;
pub mod verdict;
pub mod workload;

pub use counters::Counters;
pub use disclosure::Disclosure;
pub use effect::Effect;
pub use expr::{Expr, Facts};
pub use kpm::{Better, Kpm, KpmValue};
pub use plan::{
    BoundStatement, Branch, Commit, Drive, JobCode, PartPlan, Plan, Ramp, Routine, Selection, TableRef, TestSpec,
    Window,
};
pub use published::{Provenance, Published, PublishedFigure, PublishedKind, RunKind};
pub use result::{
    JobFigures, LatencySummary, LoadResult, Moment, PartFigures, RunRecord, RunStatus, SeriesPoint, Snapshot, Tally,
    TestResult,
};
pub use target::Target;
pub use verdict::{Reason, Status, Verdict};
pub use workload::{Alias, Answer, Bind, Claim, ClientBranch, Param, Part, Workload};
