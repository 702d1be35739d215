//! A statement whose values stand in its text: what clients send that prepare nothing.

use std::io::Write;

use crate::engine::{EngineError, ErrorClass};

/// A statement's text, cut where values go.
#[derive(Debug)]
pub(in crate::engine) struct TextQuery {
    /// Before the first value, between two, after the last.
    pieces: Vec<String>,
    /// Index of the value behind each piece but the last.
    values: Vec<usize>,
    /// Values that are given.
    binds: usize,
}

impl TextQuery {
    /// Cuts `sql` at its placeholders: `$1`, `$2` of `binds` values, or as many `?`.
    ///
    /// # Errors
    /// A placeholder without a value.
    pub(in crate::engine) fn new(sql: &str, binds: usize) -> Result<TextQuery, EngineError> {
        let (mut pieces, mut values, mut piece) = (Vec::new(), Vec::new(), String::new());
        let mut rest = sql;
        while let Some(at) = rest.find(['$', '?']) {
            let (before, mark) = rest.split_at(at);
            let digits = mark[1..].bytes().take_while(u8::is_ascii_digit).count();
            let number = match (mark.as_bytes()[0], mark[1..=digits].parse::<usize>()) {
                (b'?', _) => Some(values.len()),
                (_, number) => number.ok().and_then(|number| number.checked_sub(1)),
            };
            piece.push_str(before);
            rest = &mark[1 + if mark.starts_with('?') { 0 } else { digits }..];
            match number {
                Some(number) if number < binds => {
                    pieces.push(std::mem::take(&mut piece));
                    values.push(number);
                }
                Some(_) => return Err(unfit(sql, binds)),
                None => piece.push('$'),
            }
        }
        pieces.push(piece + rest);
        Ok(TextQuery { pieces, values, binds })
    }

    /// Adds the text with these values to `out`. A negative one stands in parentheses: `--` begins
    /// a comment.
    ///
    /// # Errors
    /// Another number of values.
    #[inline]
    pub(in crate::engine) fn write(
        &self,
        values: &[i64],
        out: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        if values.len() != self.binds {
            return Err(unfit(&self.pieces.concat(), values.len()));
        }
        for (piece, &at) in self.pieces.iter().zip(&self.values) {
            out.extend_from_slice(piece.as_bytes());
            let value = values[at];
            // Writing into memory cannot fail.
            let _ = if value < 0 { write!(out, "({value})") } else { write!(out, "{value}") };
        }
        out.extend_from_slice(self.pieces.last().map_or(&[][..], |last| last.as_bytes()));
        Ok(())
    }
}

fn unfit(sql: &str, values: usize) -> EngineError {
    EngineError::new(
        ErrorClass::Statement,
        format!("{values} values do not fit the placeholders of: {sql}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str, values: &[i64]) -> String {
        let mut out = Vec::new();
        TextQuery::new(sql, values.len()).unwrap().write(values, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_stand_where_their_placeholders_stood() {
        assert_eq!(text("select $2, $1, $2", &[7, -8]), "select (-8), 7, (-8)");
        assert_eq!(text("select ?, 1-?", &[7, -8]), "select 7, 1-(-8)");
        assert_eq!(text("select 1", &[]), "select 1");
        assert_eq!(text("select $$a$$", &[]), "select $$a$$");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(
            TextQuery::new("select $2", 1).is_err() && TextQuery::new("select ?, ?", 1).is_err()
        );
        let query = TextQuery::new("select $1", 1).unwrap();
        assert!(query.write(&[], &mut Vec::new()).is_err());
    }
}
