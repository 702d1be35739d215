//! The table that grows while a run goes on, and the texts of its progress line: pure.

use crate::analysis::cpu;
use crate::dataset::LoadEvent;
use crate::error::visible;
use crate::model::{LoadResult, Selection, Status, TestResult};
use crate::report::Language;
use crate::report::document::Digits;
use crate::report::format::layout::Layout;
use crate::report::format::number::readable;
use crate::report::units::TimeUnit;

/// Widest text that every terminal shows on one line.
const NARROW: usize = 80;
/// From this width on there is room for longer names.
const WIDE: usize = 100;

fn name_width(width: usize) -> usize {
    if width < WIDE { 21 } else { 30 }
}

/// The columns before the verdict, in the width of the header, with one space between them and one
/// behind.
fn figures(width: usize, cells: [&str; 7]) -> String {
    let widths = vec![3, name_width(width), 4, 16, 7, 7, 4];
    let right = vec![true, false, true, true, true, true, true];
    let layout = Layout { heads: Vec::new(), rows: Vec::new(), widths, right };
    layout.padded(&cells.map(String::from)).join(" ") + " "
}

/// Header of the growing table.
pub fn header(width: usize) -> String {
    figures(width, ["#", "workload", "jobs", "KPM", "mean", "p95", "cpu%"]) + "verdict"
}

/// One test as a row of the growing table, at most `width` columns (but at least 80); `name` as
/// [`name`] gives it.
pub fn row(test: &TestResult, name: &str, width: usize, color: bool) -> String {
    let kpm = test
        .kpm_value
        .map_or("-".into(), |value| format!("{} {}", number(value), visible(&test.kpm.unit)));
    let latency = |us: Option<f64>| us.map_or("-".into(), duration_us);
    let (mean, p95) = (latency(test.latency.mean_us), latency(test.latency.p95_us));
    let cpu = cpu::busy_pct(&test.window_counters)
        .map_or_else(|_| "-".into(), |percent| format!("{percent:.0}"));
    let name = shorten(&visible(name), name_width(width));
    let figures = figures(
        width,
        [&test.seq.to_string(), &name, &test.jobs.to_string(), &kpm, &mean, &p95, &cpu],
    );
    let left = width.max(NARROW).saturating_sub(figures.chars().count());
    figures + &verdict(test, left, color)
}

/// A test that could not be measured as a row of the growing table.
pub fn failed_row(seq: u32, name: &str, jobs: u32, width: usize) -> String {
    let name = shorten(&visible(name), name_width(width));
    figures(width, [&seq.to_string(), &name, &jobs.to_string(), "-", "-", "-", "-"]) + "invalid"
}

/// The verdict in at most `width` columns: its word, and the reason if there is room.
fn verdict(test: &TestResult, width: usize, color: bool) -> String {
    let status = test.verdict.status;
    let (word, code) = match status {
        Status::Valid => ("valid", "32"),
        Status::Conditional => ("conditional", "33"),
        Status::Invalid => ("invalid", "31"),
    };
    let why = test
        .verdict
        .reasons
        .iter()
        .find(|reason| reason.status == status && status != Status::Valid);
    let why = why.map_or(String::new(), |reason| {
        format!(": {}", visible(&Language::English.code(&reason.code)))
    });
    let why = if word.len() + why.len() <= width { why } else { String::new() };
    if color { format!("\x1b[{code}m{word}\x1b[0m{why}") } else { format!("{word}{why}") }
}

/// Test that is running: `SRV-QUERY1 at 2 jobs`.
pub fn describe_running(selection: &Selection, jobs: u32) -> String {
    format!("{} at {jobs} {}", name(selection), if jobs == 1 { "job" } else { "jobs" })
}

/// Workload with the parameters that are not the engine's defaults, and the code of a published
/// suite.
pub fn name(selection: &Selection) -> String {
    let id = match &selection.asked_as {
        Some(code) if *code != selection.workload.id => {
            &format!("{} ({code})", selection.workload.id)
        }
        _ => &selection.workload.id,
    };
    let shown: Vec<_> =
        selection.chosen.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if shown.is_empty() { id.clone() } else { format!("{id}:{}", shown.join(",")) }
}

/// A text of at most `width` characters; `~` says that there was more.
pub fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let head: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{head}~")
}

/// Current step of loading.
pub fn describe_loading(event: &LoadEvent) -> String {
    match event {
        LoadEvent::Reused { table, rows } => {
            format!("table {table}: {} rows are there already", number(*rows as f64))
        }
        LoadEvent::Resumed { table, rows_done, rows_total } => {
            let percent = 100.0 * *rows_done as f64 / (*rows_total).max(1) as f64;
            let (done, total) = (number(*rows_done as f64), number(*rows_total as f64));
            format!("table {table}: resumes at {percent:.0} %, {done} of {total} rows are in")
        }
        LoadEvent::Left { table, phase, left_s } => {
            format!("table {table}: {phase}, {} left", time(*left_s))
        }
        LoadEvent::Phase { table, phase } => format!("table {table}: {phase}"),
        LoadEvent::Progress { table, mb_per_s, left_s, .. } => {
            format!("loading table {table}, {} MB/s, {} left", number(*mb_per_s), time(*left_s))
        }
        LoadEvent::Loaded(result) => load_line(result),
    }
}

/// A loaded table with its figures.
pub fn load_line(load: &LoadResult) -> String {
    let rows = number(load.rows as f64);
    if !load.loaded {
        return format!("table {}: {rows} rows were there already, verified", load.table);
    }
    let seconds = load.rows_s + load.index_s + load.analyze_s;
    if load.resumed_rows > 0 {
        let missing = number((load.rows - load.resumed_rows) as f64);
        return format!(
            "table {}: the last {missing} of {rows} rows in {seconds:.1} s, verified",
            load.table
        );
    }
    let mb_per_s = (load.table_bytes + load.index_bytes) as f64 / 1e6 / seconds.max(1e-9);
    format!(
        "table {}: {rows} rows in {seconds:.1} s, {} MB/s with indexes, verified",
        load.table,
        number(mb_per_s)
    )
}

/// A figure with three significant digits, thousands grouped.
pub fn number(value: f64) -> String {
    readable(value, Digits::Significant(3))
}

/// Microseconds with a fitting unit.
pub fn duration_us(us: f64) -> String {
    let unit = TimeUnit::suiting_us(us, 1.0);
    format!("{} {}", number(us / unit.us), unit.name)
}

/// Seconds as `1:05`, hours as `2:03:04`.
pub fn time(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "unknown time".into();
    }
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    #[test]
    fn durations_get_a_fitting_unit() {
        assert_eq!(
            [duration_us(12.3), duration_us(1500.0), duration_us(2.5e6)],
            ["12.3 us", "1.50 ms", "2.50 s"]
        );
        assert_eq!(
            [time(65.4), time(7384.0), time(f64::INFINITY)],
            ["1:05", "2:03:04", "unknown time"]
        );
    }

    #[test]
    fn rows_fit_the_narrow_terminal_and_lie_under_their_header() {
        let row = failed_row(12, "TP-LIGHT:update_pct=40", 16, 80);
        assert_eq!(header(80).find("verdict"), row.find("invalid"));
        assert!(header(80).len() <= 80 && row.contains(" TP-LIGHT:update_pct=~ "), "{row}");
        assert!(
            failed_row(12, "TP-LIGHT:update_pct=40", 16, 120).contains(" TP-LIGHT:update_pct=40 ")
        );
    }

    #[test]
    fn no_text_acts_and_rows_stay_rows() {
        let mut test = fixture::result();
        let hostile = "\u{1b}[2J\n\u{202e}";
        test.kpm.unit = hostile.into();
        let reason =
            crate::model::Reason::new(Status::Invalid, hostile.to_string().into(), hostile);
        test.verdict = crate::model::Verdict::from_reasons(vec![reason]);
        for row in [row(&test, hostile, 120, false), failed_row(1, hostile, 1, 120)] {
            assert!(row.contains("\\u{1b}[2J") && !row.chars().any(crate::error::acts), "{row:?}");
        }
    }

    #[test]
    fn cpu_is_busy_as_in_the_reports_with_all_that_is_neither_idle_nor_waiting_nor_stolen() {
        let mut test = fixture::result();
        let counters = [
            ("os_cpu_user_s", 20.0),
            ("os_cpu_sys_s", 6.0),
            ("os_cpu_idle_s", 8.0),
            ("os_cpu_iowait_s", 4.0),
            ("os_cpu_total_s", 40.0),
        ];
        test.window_counters = fixture::counters(&counters);
        let row = row(&test, "Q", 80, false);
        assert_eq!(row.split_whitespace().rev().nth(1), Some("70"), "{row}");
    }
}
