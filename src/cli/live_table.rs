//! The table that grows while a run goes on, and the texts of its progress line: pure.

use crate::dataset::LoadEvent;
use crate::model::{LoadResult, Selection, Status, TestResult};
use crate::report::document::Digits;
use crate::report::format::number::readable;

/// Header of the growing table; 80 columns.
pub fn header() -> String {
    format!(
        "{:>4} {:<24} {:>4} {:>16} {:>9} {:>9} {:>4} {}",
        "test", "workload", "jobs", "KPM", "mean", "p95", "cpu%", "verdict"
    )
}

/// One test as a row of the growing table.
pub fn row(test: &TestResult, color: bool) -> String {
    let kpm = test.kpm_value.map_or("-".into(), |value| format!("{} {}", number(value), test.kpm.unit));
    let latency = |us: Option<f64>| us.map_or("-".into(), duration_us);
    format!(
        "{:>4} {:<24} {:>4} {:>16} {:>9} {:>9} {:>4} {}",
        test.seq,
        shortened(&name(&test.workload, test.params.iter()), 24),
        test.jobs,
        kpm,
        latency(test.latency.mean_us),
        latency(test.latency.p95_us),
        cpu_percent(test).map_or("-".into(), |percent| format!("{percent:.0}")),
        verdict(test, color),
    )
}

fn verdict(test: &TestResult, color: bool) -> String {
    let status = test.verdict.status;
    let word = status.to_string();
    let code = match status {
        Status::Valid => "32",
        Status::Conditional => "33",
        Status::Invalid => "31",
    };
    let word = if color { format!("\x1b[{code}m{word}\x1b[0m") } else { word };
    let why = test.verdict.reasons.iter().find(|reason| reason.status == status && status != Status::Valid);
    why.map_or(word.clone(), |reason| format!("{word}: {}", reason.code))
}

/// Host CPU busy (user + system) in the window.
fn cpu_percent(test: &TestResult) -> Option<f64> {
    let get = |name: &str| test.window_counters.get(name);
    let total = get("os_cpu_total_s").filter(|total| *total > 0.0)?;
    Some(100.0 * (get("os_cpu_user_s")? + get("os_cpu_sys_s")?) / total)
}

/// What runs now: `SRV-QUERY1 at 2 jobs`.
pub fn running(selection: &Selection, jobs: u32) -> String {
    let name = name(&selection.workload.id, selection.params.iter());
    format!("{name} at {jobs} {}", if jobs == 1 { "job" } else { "jobs" })
}

/// Workload with the parameters whose values are not `default`.
fn name<'a>(workload: &str, params: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let shown: Vec<_> =
        params.filter(|(_, value)| *value != "default").map(|(key, value)| format!("{key}={value}")).collect();
    if shown.is_empty() { workload.to_string() } else { format!("{workload}:{}", shown.join(",")) }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let head: String = text.chars().take(width - 1).collect();
    format!("{head}~")
}

/// What loading does now.
pub fn loading(event: &LoadEvent) -> String {
    match event {
        LoadEvent::Reused { table, rows } => format!("table {table}: {} rows are there already", number(*rows as f64)),
        LoadEvent::Phase { table, phase } => format!("table {table}: {phase}"),
        LoadEvent::Progress { table, rows_done, rows_total, mb_per_s, left_s } => {
            let percent = 100.0 * *rows_done as f64 / (*rows_total).max(1) as f64;
            format!("loading table {table}: {percent:.0} %, {} MB/s, {} left", number(*mb_per_s), time(*left_s))
        }
        LoadEvent::Loaded(result) => load_line(result),
    }
}

/// A loaded table with its figures.
pub fn load_line(load: &LoadResult) -> String {
    if !load.loaded {
        return format!("table {}: {} rows were there already, verified", load.table, number(load.rows as f64));
    }
    let seconds = load.rows_s + load.index_s + load.analyze_s;
    format!(
        "table {}: {} rows in {seconds:.1} s ({} rows/s by {}, {} MB/s with indexes), verified",
        load.table,
        number(load.rows as f64),
        number(load.rows as f64 / load.rows_s.max(1e-9)),
        load.method,
        number((load.table_bytes + load.index_bytes) as f64 / 1e6 / seconds.max(1e-9)),
    )
}

/// A figure with three significant digits, thousands grouped.
pub fn number(value: f64) -> String {
    readable(value, Digits::Significant(3))
}

/// Microseconds with a fitting unit.
pub fn duration_us(us: f64) -> String {
    match us {
        v if v < 1000.0 => format!("{} us", number(v)),
        v if v < 1e6 => format!("{} ms", number(v / 1e3)),
        v => format!("{} s", number(v / 1e6)),
    }
}

/// Seconds as `1:05`, hours as `2:03:04`.
pub fn time(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown time".into();
    }
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes}:{rest:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_get_a_fitting_unit() {
        assert_eq!([duration_us(12.3), duration_us(1500.0), duration_us(2.5e6)], ["12.3 us", "1.50 ms", "2.50 s"]);
        assert_eq!([time(65.4), time(7384.0), time(f64::INFINITY)], ["1:05", "2:03:04", "unknown time"]);
    }
}
