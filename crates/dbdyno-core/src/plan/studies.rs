//! Designs of studies: which tests a study measures, made of those of its suite. A study whose
//! suite is its design (`layers`) needs nothing from here.

use super::{Candidate, DEFAULT_SIZE_GB, Request, candidates};
use crate::catalog::{Catalog, SuiteEntry};
use crate::error::{Error, Result, quote};
use crate::model::params::ACTIVE_ROWS;
use crate::model::rows::table_rows;
use crate::model::{AskedRamp, LeftOut, Ramp};

/// The suite of the ways of a lookup.
pub const LAYERS: &str = "layers";
/// The suite of reads of an active part.
pub const SWEEP: &str = "sweep";
/// The suite of workloads that feel different resources.
pub const INTERFERENCE: &str = "interference";

/// The table whose active part a sweep varies.
const BIG: &str = "big";
/// The smallest active part: of the database's cache, or of the table where that is not known.
const CACHE_PART: f64 = 16.0;
const SMALLEST_PART: u64 = 256;
/// Stored bytes of a row of the big table, about (docs/decisions/0015-sizes-and-caches.md).
const BYTES_PER_ROW: f64 = 300.0;

/// The workloads of a study, from which its design makes tests.
#[derive(Debug, Clone)]
pub struct StudyWorkloads {
    entries: Vec<SuiteEntry>,
    /// Tests of the suite that the engine cannot run, with the reason.
    pub left_out: Vec<LeftOut>,
}

impl StudyWorkloads {
    /// The named workloads, measured as the first one of the suite; if none are named, those of the
    /// request's suite that the engine can run.
    ///
    /// # Errors
    /// Of usage: a workload that is named twice; as [`candidates`].
    pub fn choose(catalog: &Catalog, request: &Request, named: &[String]) -> Result<Self> {
        let candidates = candidates(catalog, request)?;
        if named.is_empty() {
            return Ok(StudyWorkloads::of_suite(candidates));
        }
        check_named_once(named)?;
        let first = candidates.into_iter().next().map(|one| one.entry).unwrap_or_default();
        let measured_as_first =
            |name: &String| SuiteEntry { workload: Some(name.clone()), ..first.clone() };
        let entries = named.iter().map(measured_as_first).collect();
        Ok(StudyWorkloads { entries, left_out: Vec::new() })
    }

    /// Workloads that the engine can run, and the reasons why the others are left out.
    fn of_suite(candidates: Vec<Candidate>) -> Self {
        let (mut entries, mut left_out) = (Vec::new(), Vec::new());
        for Candidate { entry, selection } in candidates {
            match selection {
                Ok(_) => entries.push(entry),
                Err(reason) => left_out.push(LeftOut::new(entry.label(), reason)),
            }
        }
        StudyWorkloads { entries, left_out }
    }

    /// The design of `interference`: the request with each workload alone, and each beside each
    /// other one and itself.
    ///
    /// # Errors
    /// Of usage: several numbers of jobs.
    pub fn alone_and_in_pairs(self, request: Request) -> Result<Request> {
        let of_suite = self.entries.first().and_then(|entry| entry.jobs.clone());
        let jobs = one_number(&request, of_suite)?;
        let pairs = self.entries.iter().enumerate().flat_map(|(at, entry)| {
            self.entries[at..].iter().map(move |other| SuiteEntry {
                background: Some(other.workload.clone().unwrap_or_default()),
                background_jobs: Some(jobs),
                ..entry.clone()
            })
        });
        let tests = self.entries.iter().cloned().chain(pairs).collect();
        Ok(Request { suites: Vec::new(), tests, ..request })
    }

    /// The design of `sweep`: the request with each workload at sizes of its active part, from a
    /// sixteenth of the database's cache, else a 256th of the table, to the whole table.
    pub fn over_active_parts(self, request: Request, cache_bytes: Option<f64>) -> Request {
        let all = table_rows(BIG, request.size_gb.unwrap_or(DEFAULT_SIZE_GB));
        let least = cache_bytes
            .map_or(all / SMALLEST_PART, |bytes| (bytes / CACHE_PART / BYTES_PER_ROW) as u64);
        let sizes = sizes(all, least);
        let tests = self
            .entries
            .iter()
            .flat_map(|entry| sizes.iter().map(|rows| with_active_rows(entry, *rows)))
            .collect();
        Request { suites: Vec::new(), tests, ..request }
    }
}

/// The test with an active part of `rows` rows.
fn with_active_rows(entry: &SuiteEntry, rows: u64) -> SuiteEntry {
    let mut entry = entry.clone();
    entry.params.insert(ACTIVE_ROWS.to_string(), rows.to_string());
    entry
}

/// Sizes of the active part, in rows: from all of the table down to `least` or less, by the root
/// of two.
fn sizes(all: u64, least: u64) -> Vec<u64> {
    let step = |at: i32| (all as f64 / 2f64.powf(f64::from(at) / 2.0)).round() as u64;
    let mut sizes: Vec<u64> = Vec::new();
    for at in 0.. {
        let rows = step(at);
        sizes.push(rows.max(1));
        if rows <= least.max(1) {
            break;
        }
    }
    sizes.reverse();
    sizes
}

/// Refuses a workload that is named twice: a pair of it with itself is among the pairs anyway.
fn check_named_once(named: &[String]) -> Result<()> {
    match named.iter().enumerate().find(|(at, name)| named[..*at].contains(name)) {
        None => Ok(()),
        Some((_, twice)) => {
            Err(Error::usage("--workloads", format!("{} is named twice", quote(twice)))
                .advise("name it once"))
        }
    }
}

/// The number of jobs of each workload.
fn one_number(request: &Request, of_suite: Option<AskedRamp>) -> Result<u32> {
    let asked = request.jobs.clone().or(of_suite).unwrap_or_default();
    match asked.on(request.scale) {
        Ok(Ramp::Fixed(jobs)) if jobs.len() == 1 => Ok(jobs[0]),
        _ => Err(Error::usage(format!("--jobs {asked}"), "is not one number of jobs")
            .advise("give --jobs 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Capabilities;

    /// A request for a suite of the embedded catalog, on an engine that has the common statements
    /// only.
    fn request(suite: &str) -> Request {
        Request {
            suites: vec![suite.into()],
            size_gb: Some(0.1),
            ..Request::new("lite", Capabilities::LEAST, 4)
        }
    }

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    /// The workloads of these names, as `interference` measures them.
    fn chosen(names: &[&str]) -> Result<StudyWorkloads> {
        let catalog = Catalog::embedded().unwrap();
        StudyWorkloads::choose(&catalog, &request(INTERFERENCE), &named(names))
    }

    /// Each test with its background workload.
    fn tests_of(request: &Request) -> Vec<String> {
        let written = |entry: &SuiteEntry| match &entry.background {
            None => entry.label().to_string(),
            Some(background) => format!("{} | {background}", entry.label()),
        };
        request.tests.iter().map(written).collect()
    }

    #[test]
    fn each_workload_is_measured_alone_and_in_every_pair() {
        let request =
            chosen(&["A", "B"]).unwrap().alone_and_in_pairs(request(INTERFERENCE)).unwrap();
        assert_eq!(tests_of(&request), ["A", "B", "A | A", "A | B", "B | B"]);
        assert!(request.suites.is_empty(), "its tests are all that is measured");
        let of_suite = chosen(&[]).unwrap().entries;
        let labels: Vec<&str> = of_suite.iter().map(SuiteEntry::label).collect();
        assert_eq!(labels, ["SRV-QUERY1", "SRV-SCAN", "TP-LIGHT"]);
    }

    #[test]
    fn jobs_are_one_number_of_the_request_else_of_the_suite() {
        let with_jobs =
            |jobs: &str| Request { jobs: Some(jobs.parse().unwrap()), ..request(INTERFERENCE) };
        let background_jobs = |request: Request| {
            let designed = chosen(&["A"]).unwrap().alone_and_in_pairs(request).unwrap();
            designed.tests[1].background_jobs
        };
        assert_eq!(background_jobs(request(INTERFERENCE)), Some(1));
        assert_eq!(background_jobs(with_jobs("3")), Some(3));
        let refused = chosen(&["A"]).unwrap().alone_and_in_pairs(with_jobs("1,2")).unwrap_err();
        assert!(refused.to_string().contains("is not one number of jobs"), "{refused}");
    }

    #[test]
    fn a_workload_is_named_once() {
        let refused = chosen(&["A", "B", "A"]).unwrap_err();
        assert!(refused.to_string().contains("'A' is named twice"), "{refused}");
    }

    #[test]
    fn what_the_engine_cannot_run_is_left_out_with_the_reason() {
        let catalog = Catalog::embedded().unwrap();
        let workloads = StudyWorkloads::choose(&catalog, &request(SWEEP), &[]).unwrap();
        for LeftOut { label, reason } in &workloads.left_out {
            assert!(!reason.is_empty(), "{label}");
            assert!(workloads.entries.iter().all(|entry| entry.label() != label), "{label}");
        }
        let all = workloads.entries.len() + workloads.left_out.len();
        assert_eq!(all, candidates(&catalog, &request(SWEEP)).unwrap().len());
    }

    #[test]
    fn a_sweep_reaches_from_a_part_of_the_cache_to_the_whole_table() {
        let active_rows = |cache_bytes: Option<f64>| -> Vec<u64> {
            let designed = chosen(&["A"]).unwrap().over_active_parts(request(SWEEP), cache_bytes);
            designed.tests.iter().map(|test| test.params[ACTIVE_ROWS].parse().unwrap()).collect()
        };
        let all = table_rows(BIG, 0.1);
        let (unknown, known) = (active_rows(None), active_rows(Some(16.0 * 300.0 * 1_000.0)));
        assert_eq!((unknown.last(), known.last()), (Some(&all), Some(&all)));
        assert!(unknown[0] <= all / 256 && unknown[1] > all / 256, "{unknown:?}");
        assert!(known[0] <= 1_000 && known[1] > 1_000, "{known:?}");
    }

    #[test]
    fn sizes_grow_by_the_root_of_two_up_to_the_whole_table() {
        assert_eq!(sizes(1000, 300), [250, 354, 500, 707, 1000]);
        assert_eq!((sizes(1, 0), sizes(10, 10)), (vec![1], vec![10]));
    }
}
