//! Data of a test as the coordinator and the jobs leave it, from which its figures are made.

use super::log::{JobLog, Second};
use super::samples::Samples;
use super::schedule::Edges;
use super::sessions::SessionLog;
use super::timeline::Timeline;
use dbdyno_core::model::{DriverFigures, Facts, Snapshot};
use dbdyno_engines::engine::JobPlacement;

/// Raw data of the coordinator and the jobs.
#[derive(Default)]
pub struct Raw {
    /// Per job, in order of job numbers: index of its part and its log.
    pub jobs: Vec<(usize, JobLog)>,
    /// The same of the jobs beside them.
    pub background: Vec<(usize, JobLog)>,
    /// Planned opening and closing of the window, in s since the gate.
    pub edges: Edges,
    /// Times of ops in each second since the gate.
    pub seconds: Vec<Second>,
    /// Timeline of all jobs since the gate.
    pub timeline: Timeline,
    /// Ops of all jobs per point of the window.
    pub points: Vec<f64>,
    /// Begin, window open, window close, end.
    pub snapshots: Vec<Snapshot>,
    /// One sample per second while the jobs ran.
    pub samples: Samples,
    /// Log of the session samples.
    pub sessions: SessionLog,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Seconds from the gate to the end of the last job.
    pub total_s: f64,
    /// Facts of the data set and `jobs`.
    pub facts: Facts,
    /// Placement of the jobs on the nodes of a cluster.
    pub placement: JobPlacement,
    /// Resources that our process used.
    pub driver: Option<DriverFigures>,
}
