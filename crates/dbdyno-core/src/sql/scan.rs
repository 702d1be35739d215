//! Splits SQL text into code and stretches in which nothing is a bind: strings, quoted identifiers,
//! comments.

use std::ops::Range;

/// Length of the protected stretch that starts at the beginning of `rest`, if one does; `before` is
/// the text up to it.
///
/// Protected: `'string'` (with `''`; with backslashes after `E`), `"identifier"`, `` `identifier`
/// ``, `-- comment`, `/* comment */` (nested), `$tag$ ... $tag$`. An unclosed one reaches to the
/// end of the text.
fn protected_len(before: &str, rest: &str) -> Option<usize> {
    match rest.as_bytes().first()? {
        b'\'' => Some(quoted_len(rest, '\'', is_escape_prefix(before))),
        b'"' => Some(quoted_len(rest, '"', false)),
        b'`' => Some(quoted_len(rest, '`', false)),
        b'-' if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
        b'/' if rest.starts_with("/*") => Some(comment_len(rest)),
        b'$' if !before.ends_with(is_word) => dollar_len(rest),
        _ => None,
    }
}

/// True for characters of identifiers and numbers.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// True if the text ends in a lone `E`, the mark of a string with backslash escapes.
fn is_escape_prefix(before: &str) -> bool {
    before.strip_suffix(['e', 'E']).is_some_and(|head| !head.ends_with(is_word))
}

fn quoted_len(rest: &str, quote: char, backslashes: bool) -> usize {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if backslashes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() {
            return at + quote.len_utf8();
        }
    }
    rest.len()
}

fn comment_len(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    rest.len()
}

/// `$tag$ ... $tag$`; none if the text is not a dollar quote (`$1`).
fn dollar_len(rest: &str) -> Option<usize> {
    let tag_len = rest[1..].find('$')?;
    let tag = &rest[..tag_len + 2];
    let name = &tag[1..=tag_len];
    if name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(|c| c.is_alphanumeric() || c == '_')
    {
        return None;
    }
    let body = &rest[tag.len()..];
    Some(body.find(tag).map_or(rest.len(), |end| tag.len() + end + tag.len()))
}

/// The stretches of `sql` that are plain code, in order.
pub(super) fn code_ranges(sql: &str) -> Vec<Range<usize>> {
    let (mut ranges, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(c) = sql[at..].chars().next() {
        match protected_len(&sql[..at], &sql[at..]) {
            Some(len) => {
                ranges.push(start..at);
                at += len;
                start = at;
            }
            None => at += c.len_utf8(),
        }
    }
    ranges.push(start..sql.len());
    ranges.retain(|range| !range.is_empty());
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(sql: &str) -> String {
        code_ranges(sql).into_iter().map(|range| &sql[range]).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn strings_and_identifiers_are_no_code() {
        assert_eq!(code("a 'x''y' b"), "a | b");
        assert_eq!(code(r#"a "i""j" b `k` c"#), "a | b | c");
        assert_eq!(code(r"E'it\'s' x"), "E| x");
        assert_eq!(code(r"'back\' x"), " x");
        assert_eq!(code(r"like'a\' x"), "like| x");
    }

    #[test]
    fn comments_are_no_code() {
        assert_eq!(code("a -- it's\nb"), "a |\nb");
        assert_eq!(code("a /* x /* y */ z */ b"), "a | b");
        assert_eq!(code("a /* open"), "a ");
    }

    #[test]
    fn dollar_quotes_are_no_code_but_parameters_are() {
        assert_eq!(code("do $$ x $$ y"), "do | y");
        assert_eq!(code("do $fn$ x $$ y $fn$ z"), "do | z");
        assert_eq!(code("a = $1 and b = $2"), "a = $1 and b = $2");
        assert_eq!(code("a$b$c"), "a$b$c");
    }

    #[test]
    fn text_beyond_ascii_is_kept_whole() {
        assert_eq!(code("é 'ü' ß"), "é | ß");
    }
}
