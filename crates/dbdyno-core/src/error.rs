//! The one error type that leaves a module: typed by what the caller can do about it.
//!
//! Every error prints as one line, `where: what happened; what to do`, and carries the exit code of
//! the command line contract.

use std::fmt;

/// Kind of an error by what the caller can do about it; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Arguments, configuration or catalog files are wrong: the user changes them. Exit code 2.
    Usage,
    /// The target (server, data directory, disk) cannot do what is asked. Exit code 3.
    Target,
    /// Failure as for `Target`: the server requires a password and none was given. The user may be
    /// asked for it.
    NoPassword,
    /// Failure as for `Target`: one of several load generators is gone.
    WorkerLost,
    /// Failure as for `Target`: open results, in a file or a database, can no longer be read or
    /// written.
    Results,
    /// A check found something (`verify`, `check`, an invalid KPM with `--strict`). Exit code 1.
    Check,
    /// Ctrl-C, SIGTERM or the end of the terminal; what was measured is stored. Exit code 130.
    Interrupted,
}

impl Kind {
    /// The process exit code of the command line contract.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Check => 1,
            Kind::Usage => 2,
            Kind::Target | Kind::NoPassword | Kind::WorkerLost | Kind::Results => 3,
            Kind::Interrupted => 130,
        }
    }
}

/// An error for the user: where it happened, what happened, what to do. Never holds a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Kind by what the caller can do about it.
    pub kind: Kind,
    /// Place: a flag, a file with line, a target without its password.
    pub place: String,
    /// Description of what happened, lower case, no full stop.
    pub what: String,
    /// Advice for the next step; may be empty.
    pub advice: String,
}

/// Result with the crate's own error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind` at `place`.
    pub fn new(kind: Kind, place: impl Into<String>, what: impl Into<String>) -> Self {
        Error { kind, place: place.into(), what: what.into(), advice: String::new() }
    }
    /// A usage, configuration or catalog error (exit 2).
    pub fn usage(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, place, what)
    }
    /// An error of the target (exit 3).
    pub fn target(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Kind::Target, place, what)
    }
    /// Puts what this error prevented before what happened.
    pub fn preventing(self, what: &str) -> Self {
        Error { what: format!("{what}: {}", self.what), ..self }
    }
    /// Adds what to do next.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &str, longest_word| shortened(&one_line(text, longest_word), LONGEST);
        write!(f, "{}: {}", excerpt(&self.place), line(&self.what, QUOTED))?;
        if !self.advice.is_empty() {
            write!(f, "; {}", line(&self.advice, COPIED))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Mistake in a text that the user wrote, such as a file in TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// Byte of the text at which the mistake is; 0 if it concerns the text as a whole.
    pub offset: usize,
    /// Description of the mistake, lower case, no full stop.
    pub what: String,
}

impl TextError {
    /// A mistake that concerns the text as a whole.
    pub fn of_whole(what: impl Into<String>) -> TextError {
        TextError { offset: 0, what: what.into() }
    }
}

impl From<toml::de::Error> for TextError {
    fn from(error: toml::de::Error) -> TextError {
        let offset = error.span().map_or(0, |span| span.start);
        TextError { offset, what: error.message().to_owned() }
    }
}

/// Most characters of a text from outside that a message quotes.
const QUOTED: usize = 80;
/// Advice holds paths to be copied whole, up to this many characters.
const COPIED: usize = 255;
/// Most characters of what happened, and of what to do: a server's log may say a lot.
const LONGEST: usize = 1000;

/// A text from outside as a message quotes it: `'text'`, as [`excerpt`] shortens it.
pub fn quote(text: impl AsRef<str>) -> String {
    format!("'{}'", excerpt(text.as_ref()))
}

/// A word as a shell reads it: in quotes if it holds anything that may mean something to a shell.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=:,./@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The words of a line whose words were written by [`shell_word`].
pub fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_word, mut is_quoted) = (String::new(), false, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => (is_quoted, is_word) = (!is_quoted, true),
            '\\' if !is_quoted => {
                word.extend(letters.next());
                is_word = true;
            }
            ' ' if !is_quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => {
                word.push(other);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

/// A text from outside on one line, [`visible`], at most 80 characters: of a longer one its start
/// and its end.
pub fn excerpt(text: &str) -> String {
    shortened(&visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")), QUOTED)
}

/// A message on one line, without what acts on a terminal; words longer than `longest` are
/// shortened as quotes are.
fn one_line(text: &str, longest: usize) -> String {
    let word = |word: &str| {
        let word = visible(word);
        if word.chars().count() > longest { shortened(&word, QUOTED) } else { word }
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// The start and the end of a text, in all at most `width` characters.
fn shortened(text: &str, width: usize) -> String {
    const GAP: &str = "...";
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width {
        return text.to_owned();
    }
    let tail = (width - GAP.len()) / 2;
    let (head, tail) = (&letters[..width - GAP.len() - tail], &letters[letters.len() - tail..]);
    head.iter().collect::<String>() + GAP + &tail.iter().collect::<String>()
}

/// A text from outside as it may stand on a terminal, in a page or in XML: what starts a new line
/// or moves to the side is a space, and what [`acts`] is shown as its code point, e.g. `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => shown.push(' '),
            _ if acts(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

/// JSON in which what [`acts`] is written as `\uXXXX`, as JSON itself has it for the control
/// characters below 32: exact for a program, harmless on a terminal.
pub fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // Line ends stand between values only.
            '\n' => shown.push('\n'),
            _ if acts(character) => {
                character
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| shown += &format!("\\u{unit:04x}"));
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// True if a character is invisible but changes others: control characters (escape, C1, DEL),
/// directions and isolates, characters without a width, tags, and characters that no document may
/// hold (noncharacters, which XML forbids).
pub fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_one_line_with_place_what_and_advice() {
        let error = Error::usage("--jobs", "'0' is not\na job count").advise("give 1 or more");
        assert_eq!(error.to_string(), "--jobs: '0' is not a job count; give 1 or more");
        assert_eq!(error.kind.exit_code(), 2);
    }
    #[test]
    fn what_acts_is_shown_and_what_is_long_is_cut() {
        let hostile = "\u{1b}[2J\u{9b}1m\u{7}\u{7f}\u{202e}x\u{2066}\u{200b}\u{feff}\u{ffff}";
        let shown = Error::usage(hostile, quote(hostile)).advise(hostile).to_string();
        assert!(!shown.chars().any(acts), "{shown:?}");
        assert!(shown.starts_with("\\u{1b}[2J\\u{9b}1m\\u{7}\\u{7f}\\u{202e}x"), "{shown}");
        assert_eq!(visible("a\tb\r\nc\u{2028}d"), "a b  c d");
        assert_eq!(visible("Größe 5\u{a0}% \u{2192}"), "Größe 5\u{a0}% \u{2192}");
        let exact = "\u{7f}\u{9b}\u{202e}\u{e0001}\u{feff}ü";
        let json = visible_json(&serde_json::to_string(exact).unwrap());
        assert!(!json.chars().any(acts), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), exact);
        for long in ["x".repeat(100_000), "word ".repeat(20_000), "\u{1b}".repeat(5_000)] {
            let error = Error::usage(&long, quote(&long)).to_string();
            assert!(error.chars().count() <= 80 + 2 + 82, "{error}");
        }
        let bare = Error::target("a", format!("no file {}", "x/".repeat(5_000)))
            .advise("y".repeat(5_000))
            .to_string();
        assert!(bare.chars().count() < 200, "{bare}");
        assert_eq!(
            quote("a".repeat(50) + &"b".repeat(50)).chars().filter(|c| *c == 'b').count(),
            38
        );
    }

    #[test]
    fn words_that_mean_something_to_a_shell_are_quoted() {
        let words =
            ["--jobs", "1,2", "x://me@h/d?a=1&b=2", "a b", "it's", "", "größe", "$HOME", "~"];
        let quoted = words.map(shell_word).join(" ");
        let expected = r"--jobs 1,2 'x://me@h/d?a=1&b=2' 'a b' 'it'\''s' '' größe '$HOME' '~'";
        assert_eq!(quoted, expected);
        assert_eq!(shell_words(&quoted), words);
        assert_eq!(shell_words(r" a  \'  "), ["a", "'"]);
    }
}
