//! Bodies of the server's messages: names of columns, values of a row, rows affected.

/// The row count at the end of a command tag: `INSERT 0 25`, `SELECT 1`; 0 if there is none, the
/// largest number if it is larger still, which no server counts to.
#[inline]
pub(super) fn affected_rows(tag: &[u8]) -> u64 {
    let digits =
        tag.iter().rev().skip_while(|byte| **byte == 0).take_while(|byte| byte.is_ascii_digit());
    let add = |(sum, unit): (u64, u64), digit: &u8| {
        (sum.saturating_add(u64::from(digit - b'0').saturating_mul(unit)), unit.saturating_mul(10))
    };
    digits.fold((0, 1), add).0
}

/// Names in a `RowDescription` body.
pub(super) fn column_names(body: &[u8]) -> Option<Vec<String>> {
    Some(columns(body)?.into_iter().map(|(name, _)| name).collect())
}

/// Names and numbers of the types in a `RowDescription` body: count, then per field a name with a
/// zero byte and 18 bytes, in them the type behind table and column.
pub(super) fn columns(body: &[u8]) -> Option<Vec<(String, u32)>> {
    let mut rest = body.get(2..)?;
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = String::from_utf8_lossy(&rest[..end]).into_owned();
        let field = rest.get(end + 1..end + 1 + 18)?;
        columns.push((name, u32::from_be_bytes([field[6], field[7], field[8], field[9]])));
        rest = &rest[end + 1 + 18..];
    }
    Some(columns)
}

/// The columns of a `DataRow` body; none if it is not well formed.
pub(super) fn split_row(body: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let mut rest = body.get(2..)?;
    let mut values = Vec::new();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let value = match length {
            Some(length) => Some(tail.get(..length)?),
            None => None,
        };
        rest = &tail[length.unwrap_or(0)..];
        values.push(value);
    }
    rest.is_empty().then_some(values)
}

/// The values of a `DataRow` body as texts; none if it is not well formed.
pub(super) fn texts(body: &[u8]) -> Option<Vec<Option<String>>> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    Some(split_row(body)?.into_iter().map(|value| value.map(text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tag_gives_the_rows_affected() {
        let endless = format!("SELECT {}", "9".repeat(40));
        for (tag, rows) in [
            ("INSERT 0 25", 25),
            ("UPDATE 130", 130),
            ("SELECT 1\0", 1),
            ("CREATE TABLE", 0),
            ("", 0),
            ("SELECT 18446744073709551615", u64::MAX),
            (&endless, u64::MAX),
        ] {
            assert_eq!(affected_rows(tag.as_bytes()), rows, "{tag}");
        }
    }

    #[test]
    fn a_body_that_is_cut_is_none() {
        let row = b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff";
        assert_eq!(texts(row), Some(vec![Some("ab".into()), None]));
        assert_eq!((texts(&row[..7]), texts(&row[..10]), texts(b"\0")), (None, None, None));
        let mut names = b"\0\x01ops\0".to_vec();
        names.extend_from_slice(&[0; 18]);
        assert_eq!(column_names(&names), Some(vec!["ops".into()]));
        assert_eq!(column_names(&names[..20]), None);
    }
}
