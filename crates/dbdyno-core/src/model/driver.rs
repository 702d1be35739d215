//! Cost of driving a test for the process that drives it.

use serde::{Deserialize, Serialize};

/// Resources that dbdyno used to run a test, or a load generator to run its assignment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DriverFigures {
    /// Seconds until every job was connected and prepared.
    pub connect_s: f64,
    /// Resident memory that came with the sessions, in bytes per session. Absent if the kernel does
    /// not report it, and for a test with fewer jobs than one before it, whose memory is not given
    /// back at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes_per_session: Option<f64>,
    /// Processors in use on the average from the gate to the end of the last job, user and system
    /// time: 0.05 is 5 % of one.
    pub processors: f64,
}
