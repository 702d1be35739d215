//! Texts of errors.

/// Longest piece of a statement that an error message quotes, in characters.
const QUOTED_CHARS: usize = 100;

/// The statement on one line, cut.
pub(in crate::engine) fn quote(statement: &str) -> String {
    let line = one_line(statement);
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((at, _)) => format!("{} ...", &line[..at]),
        None => line,
    }
}

/// `text` with every run of blanks and line breaks as one blank.
pub(in crate::engine) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
