//! Checksums of a table, computed here from the row function and in SQL by the data set's
//! `checksum` block; one is held against the other.

use std::fmt;
use std::ops::Range;
use std::thread::ScopedJoinHandle;

use super::ensure::tables;
use super::{Request, Site, Table};
use dbdyno_core::error::{self, Error, Kind};
use dbdyno_core::model::rows::{PAD, Row, RowFunction};
use dbdyno_engines::engine::{Rows, Session, threads};

/// Names of the sums, as the columns of the `checksum` block; the last [`MUTABLE`] change when
/// workloads update.
const NAMES: [&str; 16] = [
    "row_count",
    "id",
    "key25",
    "key125",
    "key320",
    "region",
    "booked_on",
    "quantity",
    "code_h1",
    "code_h2",
    "code_id",
    "filler_length",
    "filler_id",
    "mix",
    "amount",
    "status",
];
const MUTABLE: usize = 2;

/// Row count and sums over every column; text columns through the numbers in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum([i128; NAMES.len()]);

impl Checksum {
    /// The checksum of rows `ids` (half open).
    pub fn compute(rows: RowFunction, ids: Range<u64>) -> Self {
        let mut sums = Checksum::default();
        let mut text = String::with_capacity(200);
        ids.for_each(|id| sums.add_row(&rows.row(id), &mut text));
        sums
    }

    /// The checksum of a whole table, computed by `count` threads.
    pub fn of_table(rows: RowFunction, count: u64) -> Self {
        let count = count.max(1);
        let part =
            move |n: u64| 1 + rows.table_rows * n / count..1 + rows.table_rows * (n + 1) / count;
        std::thread::scope(|scope| {
            // What no thread can be started for is done here.
            let begin = |n| (n, threads::start(scope, move || Checksum::compute(rows, part(n))));
            let workers: Vec<_> = (0..count).map(begin).collect();
            let end = |(n, worker): (u64, Result<ScopedJoinHandle<'_, Checksum>, _>)| match worker {
                Ok(worker) => worker.join().ok(),
                Err(_) => Some(Checksum::compute(rows, part(n))),
            };
            let parts = workers.into_iter().filter_map(end);
            parts.fold(Checksum::default(), |mut all, part| {
                all.0.iter_mut().zip(part.0).for_each(|(sum, more)| *sum += more);
                all
            })
        })
    }

    /// Reads the one row that the `checksum` block returns.
    ///
    /// # Errors
    /// The name of the column that is missing or no whole number.
    pub fn from_rows(rows: &Rows) -> Result<Self, String> {
        let mut sums = Checksum::default();
        for (sum, name) in sums.0.iter_mut().zip(NAMES) {
            let value = rows.get(0, name).unwrap_or("0");
            *sum = value
                .parse()
                .map_err(|_| format!("checksum column {name} is '{value}', not a whole number"))?;
        }
        Ok(sums)
    }

    /// Differences, with both figures; empty if all is equal. `loaded`: amount and status count too
    /// (they are what workloads change later).
    pub fn differences(&self, expected: &Checksum, loaded: bool) -> Vec<String> {
        let compared = NAMES.len() - if loaded { 0 } else { MUTABLE };
        let columns = NAMES.iter().zip(self.0.iter().zip(expected.0)).take(compared);
        let different = columns.filter(|(_, (found, expected))| **found != *expected);
        different
            .map(|(name, (found, expected))| format!("{name} {found} instead of {expected}"))
            .collect()
    }

    #[inline]
    fn add_row(&mut self, row: &Row, text: &mut String) {
        row.code(text);
        let number = |part: &str| part.parse::<i64>().unwrap_or(-1);
        let (code_h1, code_h2) = (number(&text[..10]), number(&text[10..20]));
        let mix = row.id % 9973 * (row.quantity + 101 * row.region + row.key320 % 1009);
        let values = [
            1,
            row.id,
            row.key25,
            row.key125,
            row.key320,
            row.region,
            row.booked_on_days,
            row.quantity,
            code_h1,
            code_h2,
            row.id,
            PAD.len() as i64 + 12,
            row.id,
            mix,
            row.amount_cents,
            row.status,
        ];
        self.0.iter_mut().zip(values).for_each(|(sum, value)| *sum += i128::from(value));
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<_> =
            NAMES.iter().zip(self.0).map(|(name, sum)| format!("{name}={sum}")).collect();
        f.write_str(&pairs.join(" "))
    }
}

/// Checks every table of `request` completely: row count and the sums of all columns that no
/// workload changes.
///
/// # Errors
/// Of kind `Check` with the table and what differs; the engine's if a table cannot be read.
pub fn verify(site: &Site<'_>, request: &Request) -> error::Result<()> {
    let mut session = site.session()?;
    for table in tables(&site.recipe, request) {
        let expected = Checksum::of_table(table.rows, u64::from(request.sessions));
        check_rows(site, session.as_mut(), &table, &expected, false)?;
    }
    Ok(())
}

/// Compares a table's checksum with what it must be; see [`Checksum::differences`] for `loaded`.
pub(super) fn check_rows(
    site: &Site<'_>,
    session: &mut dyn Session,
    table: &Table,
    expected: &Checksum,
    loaded: bool,
) -> error::Result<()> {
    let place = format!("{}: table {}", site.label, table.full_name(&site.recipe));
    let rows = site.query(session, "checksum", &table.values(&site.recipe))?;
    let found =
        Checksum::from_rows(&rows).map_err(|what| Error::new(Kind::Check, place.clone(), what))?;
    let differences = found.differences(expected, loaded);
    if differences.is_empty() {
        return Ok(());
    }
    let what = format!("the rows are not those of the row function: {}", differences.join(", "));
    Err(Error::new(Kind::Check, place, what).advise("run 'dbdyno clean', then load again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 1 };

    #[test]
    fn sums_are_those_of_the_closed_formulas_and_do_not_depend_on_threads() {
        let sums = Checksum::of_table(ROWS, 3);
        assert_eq!(sums, Checksum::compute(ROWS, 1..16_001));
        assert_eq!(sums.0[0], 16_000);
        assert_eq!(sums.0[1], 16_000 * 16_001 / 2);
        assert_eq!(sums.0[2], 25 * 640 * 641 / 2); // every one of 640 keys 25 times
        assert_eq!(sums.0[11], 16_000 * 180);
    }

    #[test]
    fn a_changed_amount_counts_only_right_after_loading() {
        let expected = Checksum::of_table(ROWS, 1);
        let mut found = expected;
        found.0[14] += 5;
        assert!(found.differences(&expected, false).is_empty());
        assert_eq!(found.differences(&expected, true).len(), 1);
        found.0[8] += 1;
        assert!(found.differences(&expected, false)[0].starts_with("code_h1 "));
    }
}
