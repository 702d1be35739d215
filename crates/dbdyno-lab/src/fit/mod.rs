//! Does it fit: every such question is asked here, before anything is created or measured. Callers
//! print the answer.
//!
//! `profile`: a size profile and the machine; `disk`: a data set and the disk; `jobs`: the jobs of
//! a plan and the sessions and files that may be open; `cache`: the tables of a plan and the cache
//! of the database.

pub mod cache;
mod disk;
mod jobs;
mod profile;

pub use cache::cache_warning;
pub use disk::{check_file_size, check_load, check_space, data_bytes, is_used_up};
pub use jobs::{
    Limits, SessionCaches, check_jobs, files_of_server, list_jobs, load_sessions, most_jobs,
    raised_sessions, sessions_of_plan,
};
pub use profile::{Needs, check_profile, lacks_memory, of_profile};

#[cfg(test)]
pub(crate) mod tests {
    use dbdyno_core::model::{
        Better, JobCode, Kpm, KpmValue, PartPlan, Plan, Ramp, Selection, Window, Workload,
    };

    /// A selection of a workload with so many parts.
    pub(crate) fn selection(id: &str, ramp: Ramp, parts: usize) -> Selection {
        let kpm =
            Kpm { value: KpmValue::Ops, unit: "tps".into(), better: Better::Higher, scale: 1.0 };
        let part = PartPlan::bare(id, JobCode::Bulk { table: "t".into(), batch: 1 });
        Selection {
            ramp,
            parts: vec![part.clone(); parts],
            ..Selection::bare(Workload::bare(id, id, kpm), part, Window::time(0.0, 1.0))
        }
    }

    /// A plan of these selections.
    pub(super) fn plan(selections: Vec<Selection>) -> Plan {
        let (suite, tables, left_out) = ("custom".into(), Vec::new(), Vec::new());
        let (seed, size_gb, jobs_given, note) = (1, 1.0, false, None);
        Plan {
            engine: "one".into(),
            suite,
            seed,
            key_seed: seed,
            size_gb,
            jobs_given,
            redo_disturbed: 0,
            note,
            tables,
            selections,
            left_out,
            calibration: None,
        }
    }
}
