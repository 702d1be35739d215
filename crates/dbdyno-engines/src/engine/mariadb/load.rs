//! Bulk load: one prepared insert, executed with many rows of values in each packet
//! (`COM_STMT_BULK_EXECUTE`), where the product has that; else inserts of many rows in their text.
//!
//! Values come in binary form, so the server parses nothing. Neither needs `local_infile`, which is
//! off by default. Source of the format: <https://mariadb.com/kb/en/com_stmt_bulk_execute/>.

use std::io::Write;

use super::error;
use super::product::Product;
use super::provision;
use super::reply::{self, Head};
use super::session::MariaSession;
use super::wire::Wire;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::rows::{CivilDate, Row};

const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_BULK_EXECUTE: u8 = 0xFA;
/// The packet holds the types of the values.
const SEND_TYPES: u16 = 128;
/// Before each value: it is there, neither NULL nor the column's default.
const VALUE: u8 = 0;
/// Rows are sent in packets of about this size.
const PACKET_BYTES: usize = 256 * 1024;
const COLUMNS: &str =
    "id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler";
const LONG: u8 = 3;
const LONGLONG: u8 = 8;
const DATE: u8 = 10;
const DECIMAL: u8 = 246;
const STRING: u8 = 253;
/// Types of [`COLUMNS`].
const TYPES: [u8; 11] =
    [LONGLONG, LONG, LONG, LONG, LONG, DATE, DECIMAL, LONG, LONG, STRING, STRING];

/// Loads rows; see `Database::load_rows`.
pub(super) fn load(
    session: &mut MariaSession,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let (product, wire) = (session.product, &mut session.wire);
    let around = provision::around_load(product, wire, load.table)?;
    reply::run(wire, "begin")?;
    match insert_within(product, wire, around.as_ref(), load, progress) {
        Ok(true) => {
            load.note.map(|note| reply::run(wire, note)).transpose()?;
            reply::run(wire, "commit").map(|_| ())
        }
        Ok(false) => {
            reply::run(wire, "rollback")?;
            Err(EngineError::new(
                ErrorClass::Cancelled,
                format!("loading {} was cancelled", load.table),
            ))
        }
        Err(error) => {
            if error.class != ErrorClass::Lost {
                // The first error is the one to report.
                let _ = reply::run(wire, "rollback");
            }
            Err(error)
        }
    }
}

/// Inserts like [`insert`], between the two statements that the storage engine of the table
/// requires.
fn insert_within(
    product: &Product,
    wire: &mut Wire,
    around: Option<&[String; 2]>,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, EngineError> {
    let Some([first, last]) = around else { return insert(product, wire, load, progress) };
    reply::run(wire, first)?;
    let inserted = insert(product, wire, load, progress)?;
    reply::run(wire, last)?;
    Ok(inserted)
}

/// Form in which rows are sent.
enum Form {
    /// Values of the prepared statement of this number.
    Values(u32),
    /// Text of an insert, which begins with this head.
    Text(String),
}

/// Inserts all rows; false if `progress` wants no more. A packet is sent while the server still
/// works on the one before.
fn insert(
    product: &Product,
    wire: &mut Wire,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, EngineError> {
    let head = format!("insert into {} ({COLUMNS}) values ", load.table);
    let sql = format!("{head}(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let form = if product.bulk {
        Form::Values(reply::prepare(wire, &sql, TYPES.len())?)
    } else {
        Form::Text(head)
    };
    let (mut values, mut next, mut taken, mut unanswered) =
        (Values::default(), load.ids.start, 0, 0);
    let mut failure = None;
    while next < load.ids.end && failure.is_none() && progress(next - load.ids.start) {
        next = send(wire, &form, load, &mut values, next)?;
        unanswered += 1;
        if unanswered > 1 {
            unanswered -= 1;
            failure = answer(wire, &sql).map(|rows| taken += rows).err();
        }
    }
    for _ in 0..unanswered {
        match answer(wire, &sql) {
            Ok(rows) => taken += rows,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Form::Values(statement) = form {
        close(wire, statement)?;
    }
    let sent = next - load.ids.start;
    match failure {
        Some(error) => Err(error),
        None if taken == sent => Ok(next == load.ids.end && progress(sent)),
        None => Err(error::statement(format!("{taken} of {sent} rows were taken of: {sql}"))),
    }
}

fn close(wire: &mut Wire, statement: u32) -> Result<(), EngineError> {
    wire.command(COM_STMT_CLOSE).extend_from_slice(&statement.to_le_bytes());
    wire.flush() // not answered
}

/// Sends a packet of rows from id `first` on; the id after them.
fn send(
    wire: &mut Wire,
    form: &Form,
    load: &RowLoad<'_>,
    values: &mut Values,
    first: u64,
) -> Result<u64, EngineError> {
    let out = head(wire, form);
    let mut next = first;
    while next < load.ids.end && out.len() < PACKET_BYTES {
        let row = load.rows.row(next);
        match form {
            Form::Values(_) => values.append(&row, out),
            Form::Text(_) => values.append_text(&row, next == first, out),
        }
        next += 1;
    }
    wire.flush()?;
    Ok(next)
}

/// The head of a packet of rows.
fn head<'a>(wire: &'a mut Wire, form: &Form) -> &'a mut Vec<u8> {
    match form {
        Form::Values(statement) => {
            let out = wire.command(COM_STMT_BULK_EXECUTE);
            out.extend_from_slice(&statement.to_le_bytes());
            out.extend_from_slice(&SEND_TYPES.to_le_bytes());
            TYPES.iter().for_each(|kind| out.extend_from_slice(&[*kind, 0])); // signed
            out
        }
        Form::Text(head) => {
            let out = wire.command(reply::COM_QUERY);
            out.extend_from_slice(head.as_bytes());
            out
        }
    }
}

/// Rows taken of one packet.
fn answer(wire: &mut Wire, sql: &str) -> Result<u64, EngineError> {
    match reply::head(wire, sql)? {
        Head::Done { affected, .. } => Ok(affected),
        _ => Err(error::unexpected_packet("a load")),
    }
}

/// Encodes rows of values.
#[derive(Default)]
struct Values {
    /// Reused for the text columns.
    text: String,
}

impl Values {
    fn append(&mut self, row: &Row, out: &mut Vec<u8>) {
        out.push(VALUE);
        out.extend_from_slice(&row.id.to_le_bytes());
        for number in [row.key25, row.key125, row.key320, row.region] {
            push_long(out, number);
        }
        let CivilDate { year, month, day } = row.booked_on();
        push_date(out, year, month, day);
        row.amount(&mut self.text);
        self.push_text(out);
        for number in [row.quantity, row.status] {
            push_long(out, number);
        }
        row.code(&mut self.text);
        self.push_text(out);
        row.filler(&mut self.text);
        self.push_text(out);
    }

    /// Appends the row as SQL has it. Its texts are letters and digits.
    fn append_text(&mut self, row: &Row, is_first: bool, out: &mut Vec<u8>) {
        let CivilDate { year, month, day } = row.booked_on();
        let (comma, [key25, key125, key320, region]) =
            (if is_first { "" } else { "," }, [row.key25, row.key125, row.key320, row.region]);
        // Writing into memory cannot fail.
        let _ = write!(
            out,
            "{comma}({},{key25},{key125},{key320},{region},'{year}-{month}-{day}',",
            row.id
        );
        row.amount(&mut self.text);
        let _ = write!(out, "{},{},{},'", self.text, row.quantity, row.status);
        row.code(&mut self.text);
        let _ = write!(out, "{}','", self.text);
        row.filler(&mut self.text);
        let _ = write!(out, "{}')", self.text);
    }

    /// Appends the text, which is shorter than 251 bytes: its length is one byte.
    fn push_text(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[VALUE, self.text.len() as u8]);
        out.extend_from_slice(self.text.as_bytes());
    }
}

/// Appends an `integer`, in whose range all columns but the id lie.
fn push_long(out: &mut Vec<u8>, number: i64) {
    out.push(VALUE);
    out.extend_from_slice(&(number as i32).to_le_bytes());
}

/// Appends year, month and day, after their length.
fn push_date(out: &mut Vec<u8>, year: u64, month: u64, day: u64) {
    out.extend_from_slice(&[VALUE, 4]);
    out.extend_from_slice(&(year as u16).to_le_bytes());
    out.extend_from_slice(&[month as u8, day as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::rows::RowFunction;

    #[test]
    fn a_row_is_its_values_in_binary_form() {
        let (mut out, row) = (Vec::new(), RowFunction { table_rows: 16_000, seed: 7 }.row(641));
        Values::default().append(&row, &mut out);
        // Indicator and value: id, three keys (641, 1, 1, 41), region, date, amount, quantity,
        // status, code, filler.
        let lengths = [9, 5, 5, 5, 5, 6, 2 + 13, 5, 5, 2 + 32, 2 + 180];
        assert_eq!(out.len(), lengths.iter().sum::<usize>());
        assert_eq!(out[..9], [0, 0x81, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out[19..24], [0, 41, 0, 0, 0]);
        let mut text = b"values ".to_vec();
        Values::default().append_text(&row, true, &mut text);
        Values::default().append_text(&row, false, &mut text);
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.starts_with("values (641,641,1,1,41,") || text.starts_with("values (641,"),
            "{text}"
        );
        assert_eq!((text.matches("),(641,").count(), text.matches(',').count()), (1, 21), "{text}");
        let CivilDate { year, month, day } = row.booked_on();
        assert_eq!(out[29..35], [0, 4, year as u8, (year >> 8) as u8, month as u8, day as u8]);
        let amount = std::str::from_utf8(&out[37..50]).unwrap();
        assert_eq!((amount.parse::<f64>().unwrap() * 100.0).round() as i64, row.amount_cents);
    }
}
