//! Server statistics of a test by name, statements and kinds of I/O, and the speed of its device.

use super::Language;
use super::document::{Block, Cell, Column, Digits, Table};
use super::test_waits::table;
use super::units::TimeUnit;
use dbdyno_core::model::{IoKind, IoTimes, Profile, ProfileRow, TestResult, Waits};

/// Columns of a profile with their titles and units, in the order of the report; others follow
/// under their own names.
const COLUMNS: &[(&str, &str, &str, f64)] = &[
    ("calls", "Calls", "", 1.0),
    ("time_ms", "Time", "s", 1e3),
    ("rows", "Rows", "", 1.0),
    ("rows_sent", "Rows sent", "", 1.0),
    ("rows_affected", "Rows changed", "", 1.0),
    ("rows_examined", "Rows examined", "", 1.0),
    ("logical_reads", "Logical reads", "", 1.0),
    ("physical_reads", "Physical reads", "", 1.0),
    ("wal_bytes", "Redo (WAL)", "MB", 1e6),
    ("reads", "Reads", "", 1.0),
    ("read_bytes", "Read", "MB", 1e6),
    ("read_ms", "Time of reads", "s", 1e3),
    ("writes", "Writes", "", 1.0),
    ("written_bytes", "Written", "MB", 1e6),
    ("write_ms", "Time of writes", "s", 1e3),
    ("syncs", "Syncs", "", 1.0),
    ("sync_ms", "Time of syncs", "s", 1e3),
];

/// The statements that took the longest.
pub fn statements(language: Language, result: &TestResult) -> Vec<Block> {
    result
        .profiles
        .get("statements")
        .map(|profile| of_profile(language, "statements", "Statement", profile))
        .unwrap_or_default()
}

/// Reads and writes by who made them, and the device's own.
pub fn io(language: Language, result: &TestResult) -> Vec<Block> {
    let mut profile = result.profiles.get("io").cloned().unwrap_or_default();
    profile.rows.extend(device(result));
    let profile = match profile.rows.is_empty() && profile.missing.is_none() {
        true => Vec::new(),
        false => of_profile(language, "io", "Input and output", &profile),
    };
    profile
        .into_iter()
        .chain(result.waits.as_ref().into_iter().flat_map(|waits| device_times(language, waits)))
        .collect()
}

/// A histogram of the service times of the device, by kind of I/O.
fn device_times(language: Language, waits: &Waits) -> Vec<Block> {
    if let Some(why) = &waits.io_missing {
        return vec![Block::Paragraph(language.phrase(why))];
    }
    if waits.io.is_empty() {
        return Vec::new();
    }
    let head = |kind: IoKind| match kind {
        IoKind::Read => "Reads",
        IoKind::Write => "Writes",
        IoKind::Sync => "Syncs",
    };
    let heads: Vec<_> = std::iter::once(("Service time on the device", ""))
        .chain(waits.io.iter().map(|io| (head(io.kind), "")))
        .collect();
    let mut table = table(language, "io times", &heads);
    let mut ends_us: Vec<f64> =
        waits.io.iter().flat_map(|io| &io.buckets).map(|(end_us, _)| *end_us).collect();
    ends_us.sort_by(f64::total_cmp);
    ends_us.dedup();
    for end_us in ends_us {
        let count = |io: &IoTimes| {
            let bucket = io.buckets.iter().find(|bucket| bucket.0 == end_us);
            bucket.map_or(Cell::Empty, |(_, ios)| whole(*ios))
        };
        let end = language
            .say("up to {end}", &[("end", &shown_us(language, end_us, Digits::Decimals(0)))]);
        table
            .rows
            .push(std::iter::once(Cell::text(end)).chain(waits.io.iter().map(count)).collect());
    }
    table.rows.push(
        std::iter::once(Cell::text(language.phrase("All")))
            .chain(waits.io.iter().map(|io| whole(io.ios)))
            .collect(),
    );
    let mean = |io: &IoTimes| {
        io.mean_us
            .map_or(Cell::Empty, |us| Cell::text(shown_us(language, us, Digits::Significant(3))))
    };
    table.rows.push(
        std::iter::once(Cell::text(language.phrase("Mean")))
            .chain(waits.io.iter().map(mean))
            .collect(),
    );
    table.remarks.push(how_timed(language, waits));
    vec![Block::Table(table)]
}

fn whole(count: u64) -> Cell {
    Cell::Number { value: count as f64, digits: Digits::Decimals(0), verdict: None }
}

fn how_timed(language: Language, waits: &Waits) -> String {
    let number = |value: f64| language.number(value, Digits::Significant(3));
    let text = "I/Os of the device, of all processes. Each counts with the mean service time of \
                its slice, not with its own: slices are {period} ms of the window, joined until \
                they hold {least} ms of service time. With less than that in all there is no \
                percentile.";
    language.say(
        text,
        &[("period", &number(1e3 * waits.period_s)), ("least", &IoTimes::MIN_MS.to_string())],
    )
}

/// A time in the unit that suits it.
fn shown_us(language: Language, us: f64, digits: Digits) -> String {
    let unit = TimeUnit::suiting_us(us, 1.0);
    format!("{} {}", language.number(us / unit.us, digits), unit.name)
}

/// The device that holds the database, over the whole test.
fn device(result: &TestResult) -> Option<ProfileRow> {
    let counters = [
        ("reads", "os_disk_reads", 1.0),
        ("read_bytes", "os_disk_read_bytes", 1.0),
        ("read_ms", "os_disk_read_s", 1e3),
        ("writes", "os_disk_writes", 1.0),
        ("written_bytes", "os_disk_write_bytes", 1.0),
        ("syncs", "os_disk_flushes", 1.0),
    ];
    let mut row = ProfileRow { name: "the device".into(), values: Default::default() };
    for (column, counter, scale) in counters {
        result
            .counters
            .get(counter)
            .into_iter()
            .for_each(|value| row.values.set(column, value * scale));
    }
    (!row.values.0.is_empty()).then_some(row)
}

fn of_profile(language: Language, name: &str, head: &str, profile: &Profile) -> Vec<Block> {
    let why = profile.missing.as_ref().map(|why| Block::Paragraph(language.phrase(why)));
    let has = |key: &str| profile.rows.iter().any(|row| row.values.get(key).is_some());
    let columns: Vec<_> = COLUMNS.iter().filter(|(key, ..)| has(key)).collect();
    let heads = columns.iter().map(|(_, title, unit, _)| Column::new(*title, unit, 0));
    let mut table =
        Table::new(language, name, std::iter::once(Column::new(head, "", 0)).chain(heads));
    for row in &profile.rows {
        let figures = columns.iter().map(|(key, _, _, scale)| {
            row.values.get(key).map_or(Cell::Empty, |value| Cell::plain(value / scale))
        });
        table
            .rows
            .push(std::iter::once(Cell::text(language.phrase(&row.name))).chain(figures).collect());
    }
    if profile.left_out > 0 {
        let count = profile.left_out.to_string();
        table
            .remarks
            .push(language.say("{count} more lines with less are left out", &[("count", &count)]));
    }
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    why.into_iter().chain(table).collect()
}
