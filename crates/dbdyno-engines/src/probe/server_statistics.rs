//! Server statistics by name: statements, kinds of I/O. Read before and after a test; the
//! differences are its profile.

use std::collections::BTreeMap;

use crate::engine::{Rows, Session, rows_of};
use dbdyno_core::model::{Counters, Profile, ProfileRow};
use dbdyno_core::sql::{Block, statement};

/// Blocks of queries whose column `name` says what a row is about; the others are cumulative
/// numbers, as `time_ms`; or that give such a query ([`rows_of`]). What stands behind a second dot
/// tells blocks of one profile apart: rows of `profile.io.log` belong to `io`.
const PROFILE: &str = "profile.";
/// Ending of the block that says why there is no such profile, in one line; no row if there is one.
const MISSING: &str = ".missing";
/// Rows that a profile keeps.
const MAX_ROWS: usize = 12;
/// Largest error of a sum of times, as a fraction of it.
const ROUNDING: f64 = 1e-9;
/// Line about rows whose values fell.
const RESET: &str = "counts that fell during the test are left out: somebody reset them, or the \
                     server had no room for them";

/// The profiles of an engine.
pub struct Profiles {
    blocks: Vec<ProfileBlock>,
}

struct ProfileBlock {
    /// `statements`, `io`
    name: String,
    sql: String,
    missing: Option<String>,
}

/// All profiles at one moment, each by the name of the row, or why it cannot be had.
pub type Reading = BTreeMap<String, Result<BTreeMap<String, Counters>, String>>;

impl Profiles {
    /// The profiles among the blocks of an engine.
    pub fn from_blocks(blocks: &[&Block]) -> Profiles {
        let own = blocks.iter().filter_map(|block| ProfileBlock::find(block, blocks));
        Profiles { blocks: own.collect() }
    }

    /// Reads them all.
    pub fn read(&self, session: &mut dyn Session) -> Reading {
        let mut reading = Reading::new();
        for block in &self.blocks {
            match (reading.get_mut(&block.name), block.read(session)) {
                (Some(Ok(rows)), Ok(more)) => rows.extend(more),
                (Some(_), _) => {}
                (None, read) => drop(reading.insert(block.name.clone(), read)),
            }
        }
        reading
    }
}

impl ProfileBlock {
    /// The profile that a block reads, with the block about its missing facts; none for a block of
    /// another kind.
    fn find(block: &Block, blocks: &[&Block]) -> Option<ProfileBlock> {
        let name = block.name.strip_prefix(PROFILE).filter(|name| !name.ends_with(MISSING))?;
        let missing = format!("{PROFILE}{name}{MISSING}");
        let missing = blocks.iter().find(|block| block.name == missing);
        Some(ProfileBlock {
            name: name.split('.').next().unwrap_or(name).to_string(),
            sql: statement(&block.text).to_string(),
            missing: missing.map(|block| statement(&block.text).to_string()),
        })
    }

    fn read(&self, session: &mut dyn Session) -> Result<BTreeMap<String, Counters>, String> {
        let mut ask = |sql: &str| rows_of(session, sql).map_err(|error| error.to_string());
        if let Some(sql) = self.missing.as_ref().filter(|sql| !sql.is_empty()) {
            ask(sql)?.scalar().map_or(Ok(()), |why| Err(why.to_string()))?;
        }
        ask(&self.sql).map(|rows| by_name(&rows))
    }
}

/// Rows of equal names are added up.
fn by_name(rows: &Rows) -> BTreeMap<String, Counters> {
    let mut named: BTreeMap<String, Counters> = BTreeMap::new();
    for (at, row) in rows.rows.iter().enumerate() {
        let Some(name) = rows.get(at, "name") else { continue };
        let numbers = rows.columns.iter().zip(row).filter_map(|(column, cell)| {
            Some((column.clone(), cell.as_deref()?.parse::<f64>().ok()?))
        });
        let values = Counters(numbers.filter(|(column, _)| column != "name").collect());
        named.entry(name.to_string()).or_default().add(&values);
    }
    named
}

/// The readings of all nodes as one: rows of equal names are added up, and what one cannot tell is
/// not known.
pub fn together(readings: impl Iterator<Item = Reading>) -> Reading {
    let mut all = Reading::new();
    for (name, read) in readings.flatten() {
        match (all.get_mut(&name), read) {
            (None, read) => drop(all.insert(name, read)),
            (Some(Ok(rows)), Ok(more)) => {
                more.into_iter()
                    .for_each(|(row, values)| rows.entry(row).or_default().add(&values));
            }
            (Some(rows), Err(why)) => *rows = Err(why),
            (Some(Err(_)), Ok(_)) => {}
        }
    }
    all
}

/// Difference of two readings, by profile.
pub fn between(before: &Reading, after: Reading) -> BTreeMap<String, Profile> {
    let mut profiles = BTreeMap::new();
    for (name, after) in after {
        let profile = match (before.get(&name), after) {
            (Some(Ok(before)), Ok(after)) => difference(before, &after),
            (Some(Err(why)), _) => Profile { missing: Some(why.clone()), ..Profile::default() },
            (_, Err(why)) => Profile { missing: Some(why), ..Profile::default() },
            (None, Ok(_)) => Profile {
                missing: Some("it was not read before the test".into()),
                ..Profile::default()
            },
        };
        profiles.insert(name, profile);
    }
    profiles
}

/// Difference of two sets of counters; names that are new count from 0. A row of which a value fell
/// is left out, with a line that says so: its statement was forgotten, or somebody reset it.
fn difference(before: &BTreeMap<String, Counters>, after: &BTreeMap<String, Counters>) -> Profile {
    let (mut rows, mut is_reset) = (Vec::new(), false);
    for (name, after) in after {
        let values = match before.get(name) {
            None => after.clone(),
            Some(before) if fell(before, after) => {
                is_reset = true;
                continue;
            }
            Some(before) => after.since(before),
        };
        if values.0.values().any(|value| *value > 0.0) {
            rows.push(ProfileRow { name: name.clone(), values });
        }
    }
    rows.sort_by(|a, b| weight(b).partial_cmp(&weight(a)).unwrap_or(std::cmp::Ordering::Equal));
    let left_out = rows.len().saturating_sub(MAX_ROWS) as u64;
    rows.truncate(MAX_ROWS);
    Profile { rows, left_out, missing: is_reset.then(|| RESET.to_string()) }
}

/// True if one of the values is smaller than before, by more than sums of the same times differ
/// that are made in another order.
fn fell(before: &Counters, after: &Counters) -> bool {
    let is_less = |(column, value): (&String, &f64)| {
        before.get(column).is_some_and(|before| *value < before * (1.0 - ROUNDING))
    };
    after.0.iter().any(is_less)
}

/// Time first; what was not timed by all that was counted.
fn weight(row: &ProfileRow) -> (f64, f64) {
    let time: f64 = row
        .values
        .0
        .iter()
        .filter(|(column, _)| column.ends_with("_ms"))
        .map(|(_, value)| value)
        .sum();
    (time, row.values.0.values().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(rows: &[(&str, f64, f64)]) -> Reading {
        let columns = ["name", "calls", "time_ms"].map(String::from).to_vec();
        let row = |(name, calls, time_ms): &(&str, f64, f64)| {
            vec![Some(name.to_string()), Some(calls.to_string()), Some(time_ms.to_string())]
        };
        let rows = Rows { columns, rows: rows.iter().map(row).collect() };
        Reading::from([("statements".to_string(), Ok(by_name(&rows)))])
    }

    #[test]
    fn a_profile_is_what_was_added_with_the_longest_first() {
        let before = reading(&[("select 1", 10.0, 5.0), ("idle", 3.0, 3.0)]);
        let after = reading(&[
            ("select 1", 15.0, 7.0),
            ("idle", 3.0, 3.0),
            ("update", 2.0, 9.0),
            ("update", 1.0, 1.0),
        ]);
        let profile = between(&before, after).remove("statements").unwrap();
        let rows: Vec<_> = profile
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.values.get("calls"), row.values.get("time_ms")))
            .collect();
        assert_eq!(rows, [("update", Some(3.0), Some(10.0)), ("select 1", Some(5.0), Some(2.0))]);
    }

    #[test]
    fn a_sum_in_another_order_is_no_reset() {
        let before = reading(&[("other", 3.0, 0.6 + 1e-13), ("update", 8.0, 9.0)]);
        let after = reading(&[("other", 3.0, 0.6), ("update", 9.0, 11.0)]);
        let profile = between(&before, after).remove("statements").unwrap();
        assert_eq!((profile.rows.len(), profile.missing), (1, None));
    }

    #[test]
    fn a_row_that_was_reset_is_left_out_and_told() {
        let before = reading(&[("select 1", 100.0, 50.0), ("update", 8.0, 9.0)]);
        let after = reading(&[("select 1", 3.0, 60.0), ("update", 9.0, 11.0)]);
        let profile = between(&before, after).remove("statements").unwrap();
        let rows: Vec<_> =
            profile.rows.iter().map(|row| (row.name.as_str(), row.values.get("calls"))).collect();
        assert_eq!((rows, profile.missing.as_deref()), (vec![("update", Some(1.0))], Some(RESET)));
    }

    #[test]
    fn only_so_many_rows_are_kept_and_the_others_counted() {
        let rows: Vec<(String, f64)> =
            (0..20).map(|at| (format!("s{at}"), f64::from(at))).collect();
        let rows: Vec<(&str, f64, f64)> =
            rows.iter().map(|(name, ms)| (name.as_str(), 1.0, *ms)).collect();
        let profile = between(&reading(&[]), reading(&rows)).remove("statements").unwrap();
        assert_eq!(
            (profile.rows.len(), profile.left_out, profile.rows[0].name.as_str()),
            (MAX_ROWS, 8, "s19")
        );
    }

    #[test]
    fn why_there_is_none_is_kept() {
        let none = || Reading::from([("io".to_string(), Err("it is off".to_string()))]);
        assert_eq!(between(&none(), none())["io"].missing.as_deref(), Some("it is off"));
        assert_eq!(between(&Reading::new(), none())["io"].missing.as_deref(), Some("it is off"));
    }
}
