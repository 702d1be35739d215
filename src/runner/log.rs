//! The log of a test: what each job did, slice by slice, and the latency of each second.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::engine::EngineError;
use crate::model::{Counters, Tally};
use crate::stats::LatencyHistogram;

/// One slice of one job; seconds count from the opening of the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceLog {
    pub start_s: f64,
    pub end_s: f64,
    pub tally: Tally,
    /// Every n-th op was timed.
    pub stride: u32,
    /// True if the slice belongs to the window.
    pub counts: bool,
}

/// Everything one job did.
#[derive(Debug, Default)]
pub struct JobLog {
    pub slices: Vec<SliceLog>,
    /// Service times of the slices that count.
    pub latency: LatencyHistogram,
    /// The session's own counters over the loop.
    pub counters: Counters,
    /// Failed ops of the slice under way, by class.
    pub pending_errors: BTreeMap<String, u64>,
    pub first_error: Option<String>,
    /// What ended the job early.
    pub failure: Option<EngineError>,
}

/// Shared by the jobs of a test: latency per second since the gate.
#[derive(Debug, Default)]
pub struct SecondsLog(Mutex<Vec<LatencyHistogram>>);

impl SecondsLog {
    /// Adds a slice's latencies to the second in which its middle lies.
    pub fn add(&self, start_s: f64, end_s: f64, latency: &LatencyHistogram) {
        let second = ((start_s + end_s) / 2.0).max(0.0) as usize;
        let mut seconds = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if seconds.len() <= second {
            seconds.resize_with(second + 1, LatencyHistogram::new);
        }
        seconds[second].merge(latency);
    }

    /// The histograms, one per second.
    pub fn into_seconds(self) -> Vec<LatencyHistogram> {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
