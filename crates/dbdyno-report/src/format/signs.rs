//! Signs of print: pages and workbooks write `±`, `µs` and `1.96×` where terminals, CSV and JSON,
//! which every program and every font reads, write `+-`, `us` and `x1.96`.

/// Names of kinds of processors, which are no factors.
const PROCESSORS: [&str; 3] = ["x86", "x64", "x32"];
/// Signs that may stand before and behind a word.
const OPENING: &[char] = &['(', '['];
/// Marks of verdicts are among them.
const CLOSING: &[char] = &[')', ']', ',', '.', ';', ':', '!', '?'];

/// The text with the signs of print. A word is changed only if its meaning is certain: the unit
/// `us` alone, in brackets or behind a number, `x` before a number that ends there.
pub(super) fn typeset_signs(text: &str) -> String {
    if !["us", "+-", "x"].iter().any(|sign| text.contains(sign)) {
        return text.to_string();
    }
    let mut shown = String::with_capacity(text.len() + 4);
    let mut is_behind_number = true;
    for piece in text.split_inclusive(is_space) {
        let word = piece.trim_end_matches(is_space);
        let printed = word_printed(word, is_behind_number);
        shown += &printed;
        shown += &piece[word.len()..];
        is_behind_number = printed.ends_with(|last: char| last.is_ascii_digit() || last == '?');
    }
    shown
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\u{a0}' | '\u{202f}')
}

fn word_printed(word: &str, is_behind_number: bool) -> String {
    let rest = word.trim_start_matches(OPENING);
    let (opening, rest) = word.split_at(word.len() - rest.len());
    let core = rest.trim_end_matches(CLOSING);
    let closing = &rest[core.len()..];
    let core = match core {
        "us" if is_behind_number || !opening.is_empty() => "µs".to_string(),
        _ => match (core.strip_prefix("+-"), core.strip_prefix('x')) {
            (Some(rest), _) => format!("±{rest}"),
            (_, Some(factor)) if is_factor(factor) && !PROCESSORS.contains(&core) => {
                format!("{factor}×")
            }
            _ => core.to_string(),
        },
    };
    [opening, &core, closing].concat()
}

/// True for `1.96` and `1,960`. Digits alone are a name's, as in `x3650`: a user may call a run
/// `x2`, and no name is changed.
fn is_factor(text: &str) -> bool {
    let whole = text.split(['.', ',']).next().unwrap_or_default();
    let is_digits = text.chars().all(|one| one.is_ascii_digit() || matches!(one, '.' | ','));
    is_digits && (1..=3).contains(&whole.len()) && whole.len() < text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_microseconds_and_intervals_have_their_signs() {
        for (text, shown) in [
            ("us", "µs"),
            ("Service time [us]", "Service time [µs]"),
            ("Device 34.4 us", "Device 34.4 µs"),
            ("2.1\u{a0}us, or more", "2.1\u{a0}µs, or more"),
            ("53.98@70.4 us?", "53.98@70.4 µs?"),
            ("53.98@70.4 us!", "53.98@70.4 µs!"),
            ("x0.838?", "0.838×?"),
            ("CI95 +-", "CI95 ±"),
            ("known to +-92 % only", "known to ±92 % only"),
            ("about x1.96 (x0.910 to x2.1).", "about 1.96× (0.910× to 2.1×)."),
            ("das x1,96", "das 1,96×"),
        ] {
            assert_eq!(typeset_signs(text), shown);
        }
    }

    #[test]
    fn names_and_the_word_us_stay() {
        for text in [
            "measured by us",
            "who of us?",
            "sessions waited 3 s for us; we worked",
            "x86_64",
            "x86",
            "IBM x3650 M4",
            "x2",
            "x250",
            "max 2",
            "x",
            "5+-3",
            "status",
        ] {
            assert_eq!(typeset_signs(text), text);
        }
    }
}
