//! Bulk load: `LOAD DATA LOCAL INFILE` of the standard rows, streamed as text from one reused buffer.

use super::error;
use super::reply::{self, Head};
use super::wire::Wire;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use crate::model::rows::Row;

/// Rows are sent in pieces of about this size.
const PIECE_BYTES: usize = 128 * 1024;
/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 10_000;
const COLUMNS: &str = "id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler";

/// Loads rows; see `Database::load_rows`.
pub(super) fn load(
    wire: &mut Wire,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    reply::run(wire, "begin")?;
    match stream(wire, load, progress) {
        Ok(true) => {
            load.note.map(|note| reply::run(wire, note)).transpose()?;
            reply::run(wire, "commit").map(|_| ())
        }
        Ok(false) => {
            reply::run(wire, "rollback")?;
            Err(EngineError::new(ErrorClass::Cancelled, format!("loading {} was cancelled", load.table)))
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

/// Sends the rows as the content of a file; false if `progress` wants no more.
fn stream(wire: &mut Wire, load: &RowLoad<'_>, progress: &mut dyn FnMut(u64) -> bool) -> Result<bool, EngineError> {
    let sql = format!(
        "load data local infile 'rows' into table {} character set utf8mb4 fields terminated by '\\t' \
         lines terminated by '\\n' ({COLUMNS})",
        load.table
    );
    reply::send(wire, &sql)?;
    match reply::head(wire, &sql)? {
        Head::LocalFile => {}
        _ => return Err(error::unexpected("a load")),
    }
    let wanted = send_rows(wire, load, progress)?;
    match reply::head(wire, &sql)? {
        Head::Done { affected, .. } if !wanted || affected == load.ids.end - load.ids.start => Ok(wanted),
        Head::Done { affected, .. } => Err(error::statement(format!("{affected} rows were taken of: {sql}"))),
        _ => Err(error::unexpected("a load")),
    }
}

/// Sends all rows; false if `progress` wants no more. An empty packet ends the file.
fn send_rows(wire: &mut Wire, load: &RowLoad<'_>, progress: &mut dyn FnMut(u64) -> bool) -> Result<bool, EngineError> {
    let mut line = Line::default();
    let (mut sent, mut wanted) = (0, true);
    let mut piece = wire.payload();
    for id in load.ids.clone() {
        line.append(&load.rows.row(id), piece);
        sent += 1;
        if piece.len() >= PIECE_BYTES {
            wire.flush()?;
            piece = wire.payload();
        }
        if sent % PROGRESS_ROWS == 0 {
            wanted = progress(sent);
            if !wanted {
                break;
            }
        }
    }
    if piece.len() > 4 {
        wire.flush()?;
    }
    wire.payload();
    wire.flush()?;
    Ok(wanted && (sent % PROGRESS_ROWS == 0 || progress(sent)))
}

/// Builds lines of text: columns apart by tabs. No value holds a tab, a line break or a backslash.
#[derive(Default)]
struct Line {
    /// Reused for the text columns.
    text: String,
}

impl Line {
    fn append(&mut self, row: &Row, out: &mut Vec<u8>) {
        for number in [row.id, row.key25, row.key125, row.key320, row.region] {
            push_number(out, number);
            out.push(b'\t');
        }
        row.booked_on_iso(&mut self.text);
        self.push_text(out);
        push_cents(out, row.amount_cents);
        out.push(b'\t');
        for number in [row.quantity, row.status] {
            push_number(out, number);
            out.push(b'\t');
        }
        row.code(&mut self.text);
        self.push_text(out);
        row.filler(&mut self.text);
        out.extend_from_slice(self.text.as_bytes());
        out.push(b'\n');
    }

    fn push_text(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text.as_bytes());
        out.push(b'\t');
    }
}

/// Appends a number in decimal digits.
fn push_number(out: &mut Vec<u8>, number: i64) {
    let (mut digits, mut at, mut rest) = ([0_u8; 20], 20, number.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends hundredths as a decimal number with two places.
fn push_cents(out: &mut Vec<u8>, cents: i64) {
    push_number(out, cents / 100);
    let rest = (cents % 100) as u8;
    out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rows::RowFunction;

    #[test]
    fn a_row_becomes_a_line() {
        let mut out = Vec::new();
        Line::default().append(&RowFunction { table_rows: 16_000, seed: 7 }.row(641), &mut out);
        let text = String::from_utf8(out).unwrap();
        let fields: Vec<_> = text.trim_end_matches('\n').split('\t').collect();
        assert_eq!(fields.len(), 11);
        assert_eq!(fields[..4], ["641", "1", "1", "41"]);
        assert_eq!((fields[5].len(), fields[9].len(), fields[10].len()), (10, 32, 180));
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        let mut out = Vec::new();
        [0, -7, i64::MAX].iter().for_each(|number| push_number(&mut out, *number));
        [5, 123_456].iter().for_each(|cents| push_cents(&mut out, *cents));
        assert_eq!(String::from_utf8(out).unwrap(), "0-792233720368547758070.051234.56");
    }
}
