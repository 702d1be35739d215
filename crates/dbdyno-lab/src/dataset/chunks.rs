//! Ranges of a table that are loaded already, so that an interrupted load continues where it
//! stopped.
//!
//! A table is loaded in chunks. Each is one transaction that also notes the chunk in our table
//! `state_chunks` (an engine without transactions clears a stretch before it is loaded again: block
//! `chunks.clear`). The notes go when the table is complete.

use std::ops::Range;

use dbdyno_core::error::Result;
use dbdyno_core::sql::Values;
use dbdyno_engines::engine::{Rows, Session};

use super::{Site, Table};

/// Chunks per session: what is lost when all sessions break off at once is a sixteenth of the rows
/// at most.
const CHUNKS_PER_SESSION: u64 = 16;
/// Fewer rows are not worth a transaction, and more would be a pity to lose.
const MIN_ROWS: u64 = 20_000;
const MAX_ROWS: u64 = 250_000;

/// Rows of the stretches together.
pub(super) fn rows_in(stretches: &[Range<u64>]) -> u64 {
    stretches.iter().map(|stretch| stretch.end - stretch.start).sum()
}

/// Part of ids `1..=rows` that is not in `done` (ascending, no overlaps), cut into chunks for this
/// many sessions.
pub(super) fn missing(rows: u64, done: &[Range<u64>], sessions: u32) -> Vec<Range<u64>> {
    let most = (rows / (CHUNKS_PER_SESSION * u64::from(sessions.max(1)))).clamp(MIN_ROWS, MAX_ROWS);
    let starts = std::iter::once(1).chain(done.iter().map(|stretch| stretch.end));
    let ends = done.iter().map(|stretch| stretch.start).chain([rows + 1]);
    let gaps = starts.zip(ends).filter(|(start, end)| start < end);
    gaps.flat_map(|(start, end)| cut(start..end, most)).collect()
}

/// Cuts a stretch into parts of about equal length, none longer than `most`.
fn cut(stretch: Range<u64>, most: u64) -> Vec<Range<u64>> {
    let length = stretch.end - stretch.start;
    let count = length.div_ceil(most.max(1));
    (0..count)
        .map(|n| stretch.start + length * n / count..stretch.start + length * (n + 1) / count)
        .collect()
}

/// Stretches of `table` that are in, in ascending order; none if the table has other rows than
/// their notes say.
///
/// # Errors
/// The engine's; a missing table only means that nothing is in.
pub(super) fn loaded_ranges(
    site: &Site<'_>,
    session: &mut dyn Session,
    table: &Table,
    id: &str,
) -> Result<Vec<Range<u64>>> {
    let values = with_id(table.values(&site.recipe), id);
    let done = stretches(&site.query(session, "chunks.read", &values)?);
    if done.is_empty() {
        return Ok(done);
    }
    for gap in missing(table.rows.table_rows, &done, 1) {
        // May fail if the table is gone, which the count finds too.
        let _ = site.execute(session, "chunks.clear", &of_stretch(values.clone(), &gap));
    }
    let counted = site.query(session, "count", &values).ok();
    let counted = counted.and_then(|rows| rows.get(0, "row_count")?.parse::<u64>().ok());
    Ok(if counted == Some(rows_in(&done)) { done } else { Vec::new() })
}

/// The statement that notes a chunk of `table`, for its transaction.
///
/// # Errors
/// A broken catalog.
pub(super) fn note(
    site: &Site<'_>,
    table: &Table,
    id: &str,
    chunk: &Range<u64>,
) -> Result<Option<String>> {
    site.recipe.sql("chunks.note", &of_stretch(with_id(table.values(&site.recipe), id), chunk))
}

fn with_id(mut values: Values, id: &str) -> Values {
    values.insert("data_set_id".into(), id.into());
    values
}

fn of_stretch(mut values: Values, stretch: &Range<u64>) -> Values {
    values.insert("lo".into(), stretch.start.to_string());
    values.insert("hi".into(), (stretch.end - 1).to_string());
    values
}

fn stretches(rows: &Rows) -> Vec<Range<u64>> {
    let id = |row, name| rows.get(row, name).and_then(|text| text.parse::<u64>().ok());
    let noted =
        (0..rows.rows.len()).filter_map(|row| Some(id(row, "first_id")?..id(row, "last_id")? + 1));
    let mut noted: Vec<_> = noted.collect();
    noted.sort_by_key(|stretch| stretch.start);
    noted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_missing_row_once() {
        let all = 1..16_001;
        assert_eq!(missing(16_000, &[], 2), std::slice::from_ref(&all));
        let chunks = missing(1_000_000, &[], 2);
        assert_eq!((chunks.len(), rows_in(&chunks)), (32, 1_000_000));
        assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    #[test]
    fn a_load_goes_on_with_the_gaps_only() {
        let done = [1..30_001, 60_001..90_001];
        assert_eq!(missing(100_000, &done, 1), [30_001..45_001, 45_001..60_001, 90_001..100_001]);
        assert_eq!(rows_in(&done) + rows_in(&missing(100_000, &done, 7)), 100_000);
        let all = 1..90_001;
        assert!(missing(90_000, std::slice::from_ref(&all), 1).is_empty());
    }

    #[test]
    fn big_tables_have_chunks_that_can_be_lost() {
        assert!(
            missing(100_000_000, &[], 2).iter().all(|chunk| chunk.end - chunk.start <= MAX_ROWS)
        );
    }
}
