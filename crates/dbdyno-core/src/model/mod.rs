//! The words of the project as types: no I/O, no SQL, no clock.
//!
//! One file per word of the glossary; see `ARCHITECTURE.md` for who may import this layer
//! (everyone).

pub mod capabilities;
pub mod counters;
pub mod disclosure;
mod driver;
mod durability;
pub(crate) mod expr;
mod failover;
pub mod kpm;
mod named_values;
mod open_loop;
pub mod params;
pub mod plan;
mod processor_time;
pub mod published;
mod quantity;
pub mod ramp;
mod rate;
mod rate_profile;
pub mod result;
mod run;
pub mod sentence;
mod stored_plan;
mod tally;
pub mod target;
mod test;
pub mod vectors;
pub mod verdict;
pub mod waits;
mod window;
mod wire;
pub mod workload;

/// The row function, arithmetic like the keys.
pub use crate::stats::rows;
pub use capabilities::{Capabilities, DataFiles, PasswordSources, Placeholder};
pub use counters::Counters;
pub use disclosure::{Disclosure, Effect, FactForm, Needed, STATED, StatableFact};
pub use driver::DriverFigures;
pub use durability::{Durability, SustainedRate, SustainedState};
pub use expr::{Expr, Facts};
pub use failover::{Failover, FailoverTimes, How, LedgerCounts, Promotion, Survivor};
pub use kpm::{Better, Kpm, KpmValue};
pub use named_values::{Named, NamedValues, Names, SharedNames};
pub use open_loop::{OpenLoop, PhaseResult};
pub use plan::{
    Background, BoundStatement, Branch, Commit, Drive, JobCode, LeftOut, PartPlan, Plan,
    Requirement, Routine, Selection, TableRef, TestSpec,
};
pub use processor_time::{ProcessorTime, ThreadTime, Weights};
pub use published::{Provenance, Published, PublishedFigure, PublishedKind, RunKind};
pub use quantity::Quantity;
pub use ramp::{AskedRamp, LimitedRamp, Ramp, Scale};
pub use rate::{
    Arrivals, AskedRate, Loop, OfferedLoad, PaceParam, Percentile, Slo, THINK, is_uniform, pace_of,
    rate_of, without_offer, without_schedule,
};
pub use rate_profile::{PhaseKind, RatePhase, RateProfile};
pub use result::{
    BackgroundResult, JobResult, LatencySummary, NodeResult, OpsPerSample, PartResult, SeriesPoint,
    Snapshot, SnapshotPoint, TestResult, WindowInterval, WorkerResult,
};
pub use run::{DeviceSync, LoadResult, OwnLoop, RunRecord, RunStatus};
pub use sentence::Sentence;
pub use stored_plan::{SqlPiece, StoredOmission, StoredPlan, StoredSelection};
pub use tally::{Connects, Tally};
pub use target::{ClusterSpec, Target};
pub use test::{PublishedTest, Test};
pub use verdict::{Reason, ReasonCode, Status, Verdict};
pub use waits::{
    Activity, Bound, Event, EventCount, ExperimentResult, ForecastOutcome, IoCount, IoKind,
    IoTimes, Profile, ProfileRow, RepositorySnapshots, SamplerCost, ServerLog, SessionState, Waits,
};
pub use window::{End, MIN_KNOWN_S, Precision, Window};
pub use wire::{Protocol, Transport, Wire};
pub use workload::{
    Alias, Answer, Application, Bind, Claim, ClientBranch, Operation, OtherValues, Param, Part,
    RefusedValue, Resource, UnavailableValue, Workload,
};
