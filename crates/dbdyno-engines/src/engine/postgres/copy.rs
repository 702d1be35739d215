//! Bulk load: `COPY ... (FORMAT binary)` of the standard rows, from one reused buffer.

use postgres_protocol::message::frontend;

use super::error;
use super::wire::Wire;
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::rows::Row;

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's dates begin.
const POSTGRES_EPOCH_DAYS: i64 = 10_957;
/// Rows are sent in pieces of about this size: some hundred rows per system call. Not tuned by
/// measuring yet.
const PIECE_BYTES: usize = 128 * 1024;
/// Rows between two calls of `progress`.
const PROGRESS_ROWS: u64 = 10_000;
/// Start of a binary copy: signature, flags, length of the header's extension (PostgreSQL manual,
/// COPY).
const FILE_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const FILE_TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
const COLUMNS: &str =
    "id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler";
const COLUMN_COUNT: i16 = 11;
/// Tag and length of a CopyData message.
const MESSAGE_HEADER_BYTES: usize = 5;

/// Loads rows; see `Database::load_rows`.
pub(super) fn load(
    wire: &mut Wire,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    let sql = format!("copy {} ({COLUMNS}) from stdin (format binary)", load.table);
    begin(wire, &sql)?;
    match send_rows(wire, load, progress) {
        Ok(true) => {
            frontend::copy_done(&mut wire.output);
            wire.flush()?;
            wire.until_ready(&sql, ignore)
        }
        Ok(false) => {
            cancel(wire)?;
            Err(EngineError::new(
                ErrorClass::Cancelled,
                format!("loading {} was cancelled", load.table),
            ))
        }
        Err(error) => Err(error),
    }
}

fn begin(wire: &mut Wire, sql: &str) -> Result<(), EngineError> {
    frontend::query(sql, &mut wire.output).map_err(|error| error::from_io(&error))?;
    wire.flush()?;
    loop {
        match wire.frame()? {
            (b'G', _) => return Ok(()),
            (b'E', body) => {
                let failure = error::from_body(body, sql);
                wire.until_ready(sql, ignore).ok();
                return Err(failure);
            }
            (b'Z', _) => return Err(error::unexpected_message(b'Z', "copy")),
            _ => {}
        }
    }
}

/// Nothing but errors matters of what the server says about a copy.
fn ignore(_: u8, _: &[u8]) -> Result<(), EngineError> {
    Ok(())
}

/// Sends all rows; false if `progress` wants no more.
fn send_rows(
    wire: &mut Wire,
    load: &RowLoad<'_>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, EngineError> {
    let mut piece = Piece::new();
    piece.bytes.extend_from_slice(FILE_HEADER);
    let mut sent = 0;
    for id in load.ids.clone() {
        piece.row(&load.rows.row(id));
        sent += 1;
        if piece.bytes.len() >= PIECE_BYTES {
            wire.send(piece.close())?;
            piece.clear();
        }
        if sent % PROGRESS_ROWS == 0 && !progress(sent) {
            return Ok(false);
        }
    }
    piece.bytes.extend_from_slice(&FILE_TRAILER);
    wire.send(piece.close())?;
    Ok(sent % PROGRESS_ROWS == 0 || progress(sent))
}

/// Ends the copy with a failure: the server rolls back.
fn cancel(wire: &mut Wire) -> Result<(), EngineError> {
    frontend::copy_fail("cancelled", &mut wire.output).map_err(|error| error::from_io(&error))?;
    wire.flush()?;
    match wire.until_ready("copy", ignore) {
        Err(error) if error.class == ErrorClass::Lost => Err(error),
        _ => Ok(()),
    }
}

/// One CopyData message under construction.
struct Piece {
    bytes: Vec<u8>,
    /// Reused for the text columns.
    text: String,
}

impl Piece {
    fn new() -> Self {
        let mut piece =
            Piece { bytes: Vec::with_capacity(PIECE_BYTES + 4096), text: String::new() };
        piece.clear();
        piece
    }

    /// Starts the next message; its length is filled in by `close`.
    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.extend_from_slice(b"d\0\0\0\0");
    }

    /// The complete message.
    fn close(&mut self) -> &[u8] {
        let length = (self.bytes.len() - 1) as u32; // a piece is far below 4 GB
        self.bytes[1..MESSAGE_HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
        &self.bytes
    }

    /// Appends a row: number of columns, then length and value of each.
    fn row(&mut self, row: &Row) {
        self.bytes.extend_from_slice(&COLUMN_COUNT.to_be_bytes());
        self.field(&row.id.to_be_bytes());
        for number in [row.key25, row.key125, row.key320, row.region] {
            self.int4(number);
        }
        self.int4(row.booked_on_days - POSTGRES_EPOCH_DAYS);
        self.money(row.amount_cents);
        self.int4(row.quantity);
        self.int4(row.status);
        row.code(&mut self.text);
        self.text();
        row.filler(&mut self.text);
        self.text();
    }

    fn field(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(&(value.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(value);
    }

    /// An `integer`; the data set keeps keys below 2^31.
    fn int4(&mut self, value: i64) {
        self.field(&(value as i32).to_be_bytes());
    }

    /// The text in `self.text`.
    fn text(&mut self) {
        self.bytes.extend_from_slice(&(self.text.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(self.text.as_bytes());
    }

    /// A `numeric` with two decimals, from hundredths: groups of four decimal digits, the first
    /// with weight 10000^weight, trailing zero groups left out (`numeric_send` in the server's
    /// sources).
    fn money(&mut self, cents: i64) {
        let magnitude = cents.unsigned_abs();
        let mut groups = [0_u16; 6];
        let (mut whole, mut first) = (magnitude / 100, 5);
        groups[5] = (magnitude % 100 * 100) as u16;
        while whole > 0 {
            first -= 1;
            groups[first] = (whole % 10_000) as u16;
            whole /= 10_000;
        }
        let weight = 4 - first as i16;
        let digits = &groups[first..];
        let leading = digits.iter().take_while(|group| **group == 0).count();
        let used = digits.len() - digits.iter().rev().take_while(|group| **group == 0).count();
        let digits = digits.get(leading..used).unwrap_or_default();
        let weight = if digits.is_empty() { 0 } else { weight - leading as i16 };
        let sign: u16 = if cents < 0 { 0x4000 } else { 0 };
        self.bytes.extend_from_slice(&(8 + 2 * digits.len() as u32).to_be_bytes());
        for head in [digits.len() as u16, weight as u16, sign, 2] {
            self.bytes.extend_from_slice(&head.to_be_bytes());
        }
        for digit in digits {
            self.bytes.extend_from_slice(&digit.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Count, weight, sign, scale, digits.
    fn money(cents: i64) -> Vec<i16> {
        let mut piece = Piece { bytes: Vec::new(), text: String::new() };
        piece.money(cents);
        let length = u32::from_be_bytes(piece.bytes[..4].try_into().unwrap()) as usize;
        assert_eq!(length, piece.bytes.len() - 4);
        piece.bytes[4..].chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn amounts_have_the_servers_own_encoding() {
        // Worked out by hand from the format of numeric_send; tests/it/private_server.rs reads
        // loaded rows back.
        assert_eq!(money(0), [0, 0, 0, 2]);
        assert_eq!(money(5), [1, -1, 0, 2, 500]);
        assert_eq!(money(100), [1, 0, 0, 2, 1]);
        assert_eq!(money(1_234_567), [3, 1, 0, 2, 1, 2345, 6700]);
        assert_eq!(money(1_000_000), [1, 1, 0, 2, 1]);
        assert_eq!(money(-150), [2, 0, 0x4000, 2, 1, 5000]);
        assert_eq!(money(999_999_999_999), [4, 2, 0, 2, 99, 9999, 9999, 9900]);
    }

    #[test]
    fn a_piece_is_a_copy_data_message() {
        let mut piece = Piece::new();
        piece.text.push_str("abc");
        piece.text();
        assert_eq!(piece.close(), b"d\0\0\0\x0b\0\0\0\x03abc");
    }
}
