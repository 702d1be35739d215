//! Texts from outside as an error message holds them: on one line, and not without end.

/// Puts `text` on one line: every run of blanks and line breaks becomes one blank.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `max_chars` characters of `text` on one line; if it has more, `mark` follows them.
pub(super) fn first_chars(text: &str, max_chars: usize, mark: &str) -> String {
    let mut line = one_line(text);
    if let Some((end, _)) = line.char_indices().nth(max_chars) {
        line.truncate(end);
        line.push_str(mark);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_behind_its_first_characters() {
        assert_eq!(first_chars(" größe\n\tx  ", 7, "..."), "größe x");
        assert_eq!(first_chars("größe\nxy", 7, "..."), "größe x...");
        assert_eq!(first_chars("größe", 3, " ..."), "grö ...");
    }
}
