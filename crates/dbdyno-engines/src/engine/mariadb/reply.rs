//! Answers of the server: ends of results, rows as text.

use mysql_common::io::ParseBuf;
use mysql_common::packets::Column;

use super::error::{self, ERROR};
use super::wire::Wire;
use crate::engine::{EngineError, Rows};

pub(super) const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const OK: u8 = 0;
/// First byte of the packet after the last row.
const END_OF_ROWS: u8 = 0xFE;
/// First byte of a NULL in a row of texts.
const NULL: u8 = 0xFB;
/// Bit of the server's status: another result follows.
const MORE_RESULTS: u64 = 8;

/// Content of the first packet of a result.
pub(super) enum Head {
    /// A statement without rows: rows affected; whether another result follows.
    Done { affected: u64, more: bool },
    /// Rows follow, with this many columns, described first or not.
    Columns { count: usize, described: bool },
}

/// Reads the beginning of a result.
///
/// # Errors
/// The server's; `sql` is quoted in it.
#[inline]
pub(super) fn head(wire: &mut Wire, sql: &str) -> Result<Head, EngineError> {
    let payload = wire.packet()?;
    match payload.first() {
        Some(&OK) => {
            let (affected, more) =
                done(payload).ok_or_else(|| error::unexpected_packet("a statement"))?;
            Ok(Head::Done { affected, more })
        }
        Some(&ERROR) => Err(error::from_packet(payload, sql)),
        _ => {
            // The number of columns, then from MariaDB 10.6 on whether their descriptions follow: a
            // prepared statement has them already.
            let mut rest = payload;
            let count = lenenc(&mut rest).ok_or_else(|| error::unexpected_packet("a statement"))?;
            Ok(Head::Columns { count: count as usize, described: rest.first() != Some(&0) })
        }
    }
}

/// Prepares `sql`, which has `parameters` question marks; the number of the statement.
///
/// # Errors
/// The server's; another number of parameters.
pub(super) fn prepare(wire: &mut Wire, sql: &str, parameters: usize) -> Result<u32, EngineError> {
    wire.command(COM_STMT_PREPARE).extend_from_slice(sql.as_bytes());
    wire.flush()?;
    let payload = wire.packet()?;
    if payload.first() == Some(&ERROR) {
        return Err(error::from_packet(payload, sql));
    }
    // Marker, number of the statement, columns, parameters.
    let head = payload.get(..9).ok_or_else(|| error::unexpected_packet("prepare"))?;
    let id = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let columns = usize::from(u16::from_le_bytes([head[5], head[6]]));
    let found = usize::from(u16::from_le_bytes([head[7], head[8]]));
    skip(wire, columns + found)?;
    if found != parameters {
        return Err(error::statement(format!(
            "{parameters} values for {found} parameters in: {sql}"
        )));
    }
    Ok(id)
}

/// Skips the descriptions of columns.
#[inline]
pub(super) fn skip(wire: &mut Wire, packets: usize) -> Result<(), EngineError> {
    for _ in 0..packets {
        wire.packet()?;
    }
    Ok(())
}

/// Reads rows up to their end, each given to `row`; whether another result follows.
///
/// # Errors
/// The server's, also from the middle of the rows.
#[inline]
pub(super) fn rows(
    wire: &mut Wire,
    sql: &str,
    mut row: impl FnMut(&[u8]),
) -> Result<bool, EngineError> {
    loop {
        let payload = wire.packet()?;
        match payload.first() {
            Some(&END_OF_ROWS) if payload.len() < 0xFF_FFFF => {
                return done(payload)
                    .map(|(_, more)| more)
                    .ok_or_else(|| error::unexpected_packet("rows"));
            }
            Some(&ERROR) => return Err(error::from_packet(payload, sql)),
            _ => row(payload),
        }
    }
}

/// Rows affected, and whether another result follows, of the packet that ends a result.
#[inline]
fn done(payload: &[u8]) -> Option<(u64, bool)> {
    let mut rest = payload.get(1..)?;
    let affected = lenenc(&mut rest)?;
    lenenc(&mut rest)?; // the last generated key
    Some((affected, u64::from(*rest.first()?) & MORE_RESULTS != 0))
}

/// Takes a length-encoded number from the front.
#[inline]
pub(super) fn lenenc(rest: &mut &[u8]) -> Option<u64> {
    let (&first, tail) = rest.split_first()?;
    let bytes = match first {
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return None,
        small => {
            *rest = tail;
            return Some(small.into());
        }
    };
    let value =
        tail.get(..bytes)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    *rest = &tail[bytes..];
    Some(value)
}

/// Answer to a statement of text.
#[derive(Debug)]
pub(super) struct Answer {
    /// Rows that it returned; empty if it returned none.
    pub rows: Rows,
    /// Number of rows that it affected.
    pub affected: u64,
}

/// Runs a statement of text.
///
/// # Errors
/// The server's.
pub(super) fn run(wire: &mut Wire, sql: &str) -> Result<Answer, EngineError> {
    wire.command(COM_QUERY).extend_from_slice(sql.as_bytes());
    wire.flush()?;
    let (mut all, mut affected) = (Rows::default(), 0_u64);
    loop {
        let more = match head(wire, sql)? {
            Head::Done { affected: count, more } => {
                affected = affected.saturating_add(count);
                more
            }
            Head::Columns { count, described } => {
                all = Rows {
                    columns: columns(wire, if described { count } else { 0 })?,
                    rows: Vec::new(),
                };
                read_texts(wire, sql, &mut all.rows)?
            }
        };
        if !more {
            return Ok(Answer { rows: all, affected });
        }
    }
}

fn columns(wire: &mut Wire, count: usize) -> Result<Vec<String>, EngineError> {
    // No room beforehand: the number is the server's word.
    let mut names = Vec::new();
    for _ in 0..count {
        let column =
            ParseBuf(wire.packet()?).parse::<Column>(()).map_err(|error| error::from_io(&error))?;
        names.push(column.name_str().into_owned());
    }
    Ok(names)
}

/// Reads rows of texts up to their end; whether another result follows.
fn read_texts(
    wire: &mut Wire,
    sql: &str,
    all: &mut Vec<Vec<Option<String>>>,
) -> Result<bool, EngineError> {
    let mut well_formed = true;
    let more = rows(wire, sql, |row| match texts(row) {
        Some(values) => all.push(values),
        None => well_formed = false,
    })?;
    if well_formed { Ok(more) } else { Err(error::unexpected_packet("rows")) }
}

/// The values of a row of texts; none if it is not well formed.
fn texts(mut row: &[u8]) -> Option<Vec<Option<String>>> {
    let mut values = Vec::new();
    while let Some((&first, tail)) = row.split_first() {
        if first == NULL {
            row = tail;
            values.push(None);
            continue;
        }
        let length = usize::try_from(lenenc(&mut row)?).ok()?;
        let (value, rest) = row.split_at_checked(length)?;
        values.push(Some(String::from_utf8_lossy(value).into_owned()));
        row = rest;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use super::super::wire::header;
    use super::*;
    use crate::engine::ErrorClass;

    #[test]
    fn numbers_have_the_length_that_their_first_byte_says() {
        for (bytes, value) in [
            (&b"\xfa"[..], Some(250)),
            (b"\xfc\x00\x01", Some(256)),
            (b"\xfd\x01\x00\x01", Some(65_537)),
        ] {
            assert_eq!(lenenc(&mut { bytes }), value);
        }
        assert_eq!(lenenc(&mut &b"\xfe\x00\x00\x00\x00\x01\x00\x00\x00"[..]), Some(1 << 32));
        assert_eq!(lenenc(&mut &b"\xfc\x00"[..]), None);
    }

    #[test]
    fn the_end_of_a_result_tells_rows_and_whether_more_follows() {
        assert_eq!(done(b"\x00\x19\x00\x0a\x00\x00\x00"), Some((25, true)));
        assert_eq!(done(b"\xfe\x00\x00\x02\x00\x00\x00"), Some((0, false)));
    }

    #[test]
    fn a_row_of_texts_is_split() {
        let values = vec![Some("ab".to_owned()), None, Some(String::new())];
        assert_eq!(texts(b"\x02ab\xfb\x00"), Some(values));
    }

    #[test]
    fn a_row_that_is_cut_or_no_row_is_none() {
        for row in [
            &b"\x02ab\xff"[..],
            b"\x02ab\xfc\x01",
            b"\x03ab",
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert_eq!(texts(row), None, "{row:?}");
        }
    }

    /// Result of `run` for these packets, the last before the server ends the connection.
    fn answer(packets: &[&[u8]]) -> Result<Answer, EngineError> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        for (number, packet) in (1..).zip(packets) {
            theirs.write_all(&header(packet.len(), number)).unwrap();
            theirs.write_all(packet).unwrap();
        }
        theirs.shutdown(Shutdown::Write).unwrap();
        run(&mut Wire::new(ours.into()), "select 1")
    }

    #[test]
    fn an_answer_that_makes_no_sense_loses_the_connection_and_nothing_else() {
        let end = b"\xfe\x00\x00\x02\x00\x00\x00";
        assert_eq!(answer(&[b"\x01\x00", b"\x01a", end]).unwrap().rows.scalar(), Some("a"));
        let endless_row: &[&[u8]] = &[b"\x01\x00", b"\x01a\xff", end];
        let columns_without_end: &[&[u8]] = &[b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"];
        let changes_without_end: &[&[u8]] =
            &[b"\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x00\x0a\x00", b"\x00\x01\x00\x0a\x00"];
        for packets in [endless_row, columns_without_end, changes_without_end] {
            assert_eq!(answer(packets).unwrap_err().class, ErrorClass::Lost, "{packets:?}");
        }
    }
}
