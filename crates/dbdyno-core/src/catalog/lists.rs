//! Groups: plain data with a title.

use serde::{Deserialize, Serialize};

/// A group of workloads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Upper case: `SRV`.
    pub id: String,
    /// Heading of the group in reports.
    pub title: String,
    /// Prose for reports: what its workloads have in common.
    pub about: String,
    /// Position in listings.
    #[serde(skip)]
    pub order: u32,
    /// Tile on a summary for decision makers; none = after the groups that have a tile.
    #[serde(skip)]
    pub tile: Option<Tile>,
    /// Columns in the KPM report; none = chosen by the unit of each KPM.
    #[serde(skip)]
    pub form: Option<Form>,
}

/// A group on a summary for decision makers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// Position, from 1.
    pub place: u32,
    /// Plain name: `Cached SQL`.
    pub name: String,
}

impl Group {
    /// A group without prose that stands last.
    pub fn new(id: &str, title: &str) -> Group {
        Group {
            id: id.into(),
            title: title.into(),
            about: String::new(),
            order: u32::MAX,
            tile: None,
            form: None,
        }
    }
}

/// Set of columns of the KPM report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Share of updates, redo per transaction, log sync, cache hits.
    Transactions,
    /// Logical reads in total, per job and per op.
    Queries,
    /// The tiers that served the reads, and the device.
    Reads,
    /// Parts of the time of a connection, and its memory.
    Connections,
    /// Rows, ops and the device.
    General,
}

impl Form {
    /// Form for KPMs in this unit, in a group that names no form.
    pub fn of_unit(unit: &str) -> Form {
        match unit {
            "tps" => Form::Transactions,
            "qps" => Form::Queries,
            _ => Form::General,
        }
    }
}
