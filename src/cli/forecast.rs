//! The lines that frame a run: before it what will be done and how long that takes, after it what
//! stays on a server of somebody else.

use crate::error::shell_word;
use crate::fit::data_bytes;
use crate::model::{Plan, RunRecord, Target};
use crate::run::{Request, schedule};

/// `TARGET: up to 99 tests of 19 workloads, about 2 min and the time to load 0.25 GB of data`.
pub fn before(plan: &Plan, request: &Request) -> String {
    let times = request.fresh.times(&request.target);
    format!("{}: {}", request.target.label(), extent(plan, times))
}

/// Number of a plan's tests, each so many times in a block, the time that they take and the disk
/// that their data need.
pub fn extent(plan: &Plan, times: u32) -> String {
    let tests: u32 = plan.selections.iter().map(schedule::all_tests).sum();
    let tests = tests.saturating_mul(times);
    let mut workloads: Vec<&str> =
        plan.selections.iter().map(|selection| selection.workload.id.as_str()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let load = match data_bytes(&plan.tables, plan.size_gb) {
        0 => String::new(),
        bytes => format!("; the data set needs up to {} of disk", size(bytes as f64)),
    };
    format!(
        "up to {} of {}, {}{load}",
        count_of(tests as usize, "test", "tests"),
        count_of(workloads.len(), "workload", "workloads"),
        expected_time(plan, times),
    )
}

fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The time as far as it is known: fixed work takes as long as it takes.
fn expected_time(plan: &Plan, times: u32) -> String {
    let total = duration(f64::from(times) * timed_s(plan));
    let is_timed = |selection| schedule::timed_s(selection).is_some();
    match plan.selections.iter().all(is_timed) {
        true => format!("about {total} after loading and checking"),
        false => {
            format!("about {total} after loading and checking, and as long as fixed work takes")
        }
    }
}

/// Expected seconds of the tests of a plan whose length is known, each once in a block.
pub fn timed_s(plan: &Plan) -> f64 {
    let timed = plan.selections.iter().filter_map(|selection| {
        Some(f64::from(schedule::all_tests(selection)) * schedule::timed_s(selection)?)
    });
    timed.sum()
}

/// Seconds as people say them: `100 s`, `18 min`, `2.3 h`.
pub fn duration(seconds: f64) -> String {
    match seconds.round() as u64 {
        short @ 0..120 => format!("{short} s"),
        middle @ 120..7200 => format!("{} min", middle.div_ceil(60)),
        long => format!("{:.1} h", long as f64 / 3600.0),
    }
}

/// Bytes as people say them: `158 MB`, `1.2 GB` (10^6 and 10^9 bytes).
fn size(bytes: f64) -> String {
    let megabytes = bytes / 1e6;
    if megabytes < 1000.0 { format!("{megabytes:.0} MB") } else { format!("{:.1} GB", bytes / 1e9) }
}

/// The data that stay on an existing server, and the command that removes them; none if nothing was
/// loaded there.
pub fn after(run: &RunRecord, target: &Target) -> Option<String> {
    let url = target.url()?;
    let bytes: u64 = run.loads.iter().map(|load| load.table_bytes).sum();
    (bytes > 0).then(|| stays(bytes as f64, url))
}

/// The command comes last and without our quotation marks: a URL may need those of a shell.
fn stays(bytes: f64, url: &str) -> String {
    format!(
        "the tables ({}) and routines stay on the server for the next run; to remove them: dbdyno \
         clean {}",
        size(bytes),
        shell_word(url)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::schedule::Fresh;

    #[test]
    fn what_is_made_anew_is_measured_several_times_a_block() {
        let plan = crate::run::fixture::plan(&[5], 1);
        let tests = schedule::all_tests(&plan.selections[0]);
        let [once, thrice] = [1, 3].map(|times| extent(&plan, times));
        assert!(once.starts_with(&format!("up to {tests} tests of 1 workload, ")), "{once}");
        assert!(thrice.starts_with(&format!("up to {} tests of ", 3 * tests)), "{thrice}");
        let data_dir = std::path::PathBuf::new();
        let embedded = Target::Embedded { engine: "engine".into(), data_dir };
        let times = [Fresh::Nothing, Fresh::Data].map(|fresh| fresh.times(&embedded));
        assert_eq!(times, [1, 2]);
    }

    #[test]
    fn the_command_that_removes_what_stays_can_be_pasted() {
        let url = "server://me@/app?host=/run/x&port=5432";
        let said = stays(158e6, url);
        assert!(said.starts_with("the tables (158 MB)"), "{said}");
        assert!(said.ends_with(&format!(" dbdyno clean '{url}'")), "{said}");
    }

    #[test]
    fn durations_and_sizes_are_said_as_people_do() {
        let durations = [0.4, 119.0, 120.0, 1081.0, 8280.0].map(duration);
        assert_eq!(durations, ["0 s", "119 s", "2 min", "19 min", "2.3 h"]);
        assert_eq!([158e6, 1.23e9].map(size), ["158 MB", "1.2 GB"]);
    }
}
