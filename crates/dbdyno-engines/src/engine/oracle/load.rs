//! Loads rows: by a statement that makes them in the database, or by array inserts. The driver has
//! no direct path.

use oracledb::{Connection, ToDbValue};

use super::error;
use super::provision::sql;
use super::session::prepare;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::rows::RowFunction;

/// Rows of one array: about 100 kB.
const ARRAY_ROWS: u64 = 1000;

/// Loads rows in one transaction; see `Database::load_rows`.
pub(super) fn load(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let failed = |error: oracledb::Error| error::from_driver(&error, "");
    match fill(connection, load, progress) {
        Ok(true) => {
            load.note.map(|note| run(connection, note)).transpose()?;
            connection.commit().map_err(failed)
        }
        Ok(false) => {
            connection.rollback().map_err(failed)?;
            Err(EngineError::new(
                ErrorClass::Cancelled,
                format!("loading {} was cancelled", load.table),
            ))
        }
        Err(error) => {
            if error.class != ErrorClass::Lost {
                let _ = connection.rollback(); // the first error is the one to report
            }
            Err(error)
        }
    }
}

/// False if `progress` wants no more.
fn fill(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, EngineError> {
    let Some(made_inside) = load.in_database else { return insert(connection, load, progress) };
    let wanted = load.ids.end - load.ids.start;
    if !progress(0) {
        return Ok(false);
    }
    let made = run(connection, made_inside)?;
    if made != wanted {
        return Err(error::statement(format!(
            "{made} of {wanted} rows were made of {}",
            load.table
        )));
    }
    Ok(progress(made))
}

fn run(connection: &Connection, sql: &str) -> Result<u64, EngineError> {
    let done = prepare(connection, sql)?.execute(&[]);
    done.map(|done| done.rows_affected()).map_err(|error| error::from_driver(&error, sql))
}

/// Array inserts; an array is one round trip.
fn insert(
    connection: &Connection,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, EngineError> {
    let sql = sql("insert-rows", &[("table", load.table)])?;
    let mut statement = prepare(connection, &sql)?;
    let mut next = load.ids.start;
    while next < load.ids.end {
        if !progress(next - load.ids.start) {
            return Ok(false);
        }
        let end = load.ids.end.min(next + ARRAY_ROWS);
        let rows: Vec<Values> = (next..end).map(|id| Values::from_row(load.rows, id)).collect();
        let binds: Vec<_> = rows.iter().map(Values::binds).collect();
        let binds: Vec<&[&dyn ToDbValue]> = binds.iter().map(|row| row.as_slice()).collect();
        let done = statement.execute_batch(binds.as_slice().into());
        done.map_err(|error| error::from_driver(&error, &sql))?;
        next = end;
    }
    Ok(progress(next - load.ids.start))
}

/// A row as the driver binds it.
struct Values {
    /// id, four keys, amount in hundredths, quantity, status.
    numbers: [i64; 8],
    booked_on: String,
    code: String,
    filler: String,
}

impl Values {
    fn from_row(function: RowFunction, id: u64) -> Self {
        let row = function.row(id);
        let [mut booked_on, mut code, mut filler] = [const { String::new() }; 3];
        row.booked_on_iso(&mut booked_on);
        row.code(&mut code);
        row.filler(&mut filler);
        let keys = [row.id, row.key25, row.key125, row.key320, row.region];
        let [id, key25, key125, key320, region] = keys;
        let numbers =
            [id, key25, key125, key320, region, row.amount_cents, row.quantity, row.status];
        Values { numbers, booked_on, code, filler }
    }

    /// In the order of the statement.
    fn binds(&self) -> [&dyn ToDbValue; 11] {
        let [id, key25, key125, key320, region, amount, quantity, status] = &self.numbers;
        [
            id,
            key25,
            key125,
            key320,
            region,
            &self.booked_on,
            amount,
            quantity,
            status,
            &self.code,
            &self.filler,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_bound_in_the_order_of_the_insert() {
        let values = Values::from_row(RowFunction { table_rows: 8000, seed: 42 }, 7);
        let types: Vec<bool> = values
            .binds()
            .iter()
            .map(|value| value.db_type() == oracledb::DB_TYPE_NUMBER)
            .collect();
        let texts: Vec<usize> = types
            .iter()
            .enumerate()
            .filter(|(_, number)| !**number)
            .map(|(at, _)| at + 1)
            .collect();
        assert_eq!((values.numbers[0], texts), (7, vec![6, 10, 11]));
        assert_eq!((values.booked_on.len(), values.code.len(), values.filler.len()), (10, 32, 180));
    }
}
