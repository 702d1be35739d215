//! Server statistics of a test by name, statements and kinds of I/O, and the speed of its device.

use super::Language;
use super::document::{Block, Cell, Column, Digits, Table};
use super::test_waits::table;
use super::units::TimeUnit;
use dbdyno_core::model::{IoKind, IoTimes, Profile, ProfileRow, TestResult, Waits};

/// A column of a profile.
struct ProfileColumn {
    /// The name of the value in the profile.
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    /// The unit, in that of the profile.
    divisor: f64,
}

/// Columns of a profile, in the order of the report; other values of a profile have none.
const COLUMNS: [ProfileColumn; 17] = [
    ProfileColumn { key: "calls", title: "Calls", unit: "", divisor: 1.0 },
    ProfileColumn { key: "time_ms", title: "Time", unit: "s", divisor: 1e3 },
    ProfileColumn { key: "rows", title: "Rows", unit: "", divisor: 1.0 },
    ProfileColumn { key: "rows_sent", title: "Rows sent", unit: "", divisor: 1.0 },
    ProfileColumn { key: "rows_affected", title: "Rows changed", unit: "", divisor: 1.0 },
    ProfileColumn { key: "rows_examined", title: "Rows examined", unit: "", divisor: 1.0 },
    ProfileColumn { key: "logical_reads", title: "Logical reads", unit: "", divisor: 1.0 },
    ProfileColumn { key: "physical_reads", title: "Physical reads", unit: "", divisor: 1.0 },
    ProfileColumn { key: "wal_bytes", title: "Redo (WAL)", unit: "MB", divisor: 1e6 },
    ProfileColumn { key: "reads", title: "Reads", unit: "", divisor: 1.0 },
    ProfileColumn { key: "read_bytes", title: "Read", unit: "MB", divisor: 1e6 },
    ProfileColumn { key: "read_ms", title: "Time of reads", unit: "s", divisor: 1e3 },
    ProfileColumn { key: "writes", title: "Writes", unit: "", divisor: 1.0 },
    ProfileColumn { key: "written_bytes", title: "Written", unit: "MB", divisor: 1e6 },
    ProfileColumn { key: "write_ms", title: "Time of writes", unit: "s", divisor: 1e3 },
    ProfileColumn { key: "syncs", title: "Syncs", unit: "", divisor: 1.0 },
    ProfileColumn { key: "sync_ms", title: "Time of syncs", unit: "s", divisor: 1e3 },
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

/// A value of the device, by the counter that it is taken from.
struct DeviceCounter {
    column: &'static str,
    counter: &'static str,
    /// Factor from the unit of the counter to that of the column.
    factor: f64,
}

const DEVICE_COUNTERS: [DeviceCounter; 6] = [
    DeviceCounter { column: "reads", counter: "os_disk_reads", factor: 1.0 },
    DeviceCounter { column: "read_bytes", counter: "os_disk_read_bytes", factor: 1.0 },
    DeviceCounter { column: "read_ms", counter: "os_disk_read_s", factor: 1e3 },
    DeviceCounter { column: "writes", counter: "os_disk_writes", factor: 1.0 },
    DeviceCounter { column: "written_bytes", counter: "os_disk_write_bytes", factor: 1.0 },
    DeviceCounter { column: "syncs", counter: "os_disk_flushes", factor: 1.0 },
];

/// The device that holds the database, over the whole test.
fn device(result: &TestResult) -> Option<ProfileRow> {
    let mut row = ProfileRow { name: "the device".into(), values: Default::default() };
    for source in DEVICE_COUNTERS {
        if let Some(value) = result.counters.get(source.counter) {
            row.values.set(source.column, value * source.factor);
        }
    }
    (!row.values.0.is_empty()).then_some(row)
}

fn of_profile(language: Language, name: &str, head: &str, profile: &Profile) -> Vec<Block> {
    let why = profile.missing.as_ref().map(|why| Block::Paragraph(language.phrase(why)));
    let has = |key: &str| profile.rows.iter().any(|row| row.values.get(key).is_some());
    let columns: Vec<_> = COLUMNS.iter().filter(|column| has(column.key)).collect();
    let mut heads = vec![Column::new(head, "", 0)];
    heads.extend(columns.iter().map(|column| Column::new(column.title, column.unit, 0)));
    let mut table = Table::new(language, name, heads);
    for row in &profile.rows {
        let mut cells = vec![Cell::text(language.phrase(&row.name))];
        for column in &columns {
            let value = row.values.get(column.key);
            cells.push(value.map_or(Cell::Empty, |value| Cell::plain(value / column.divisor)));
        }
        table.rows.push(cells);
    }
    if profile.left_out > 0 {
        table.remarks.push(language.count("lines_of_less", profile.left_out as usize, &[]));
    }
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    why.into_iter().chain(table).collect()
}
