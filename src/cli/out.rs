//! Standard output: a reader that went away (`| head`) is no error.

use std::io::Write;

/// Prints a text, adding a newline if it does not end with one.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    if write!(stdout, "{text}{newline}").and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}
