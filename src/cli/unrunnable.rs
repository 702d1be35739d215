//! Workloads of a run of which no test could start: the first one, its error, and the place of the
//! SQL that the error quotes.

use crate::catalog::{Catalog, Entry};
use crate::error::{Error, Kind};
use crate::model::{ReasonCode, Test};

/// Minimum number of characters of a block's text that identify it in a message.
const MIN_PIECE: usize = 12;

/// The error of the first workload of which every test failed before anything was measured.
pub fn first(catalog: &Catalog, engine: &str, tests: &[Test]) -> Option<Error> {
    let test = tests.iter().find(|test| {
        let of_same = |other: &&Test| other.workload() == test.workload();
        tests.iter().filter(of_same).all(|test| failure(test).is_some())
    })?;
    let id = test.workload();
    let text = failure(test)?;
    let text = text.strip_prefix(&format!("{id}: ")).unwrap_or(text);
    let entry = catalog.find(id).ok().map(|asked| asked.entry);
    let place = entry.and_then(|entry| place_of(entry, engine, text))?;
    let error = Error::new(Kind::Check, place, format!("{id} could not run: {text}"));
    Some(error.advise(format!("'dbdyno show workload {id}' prints its SQL")))
}

/// Reason why nothing of a test was measured.
fn failure(test: &Test) -> Option<&str> {
    let reasons = test.verdict().reasons.iter();
    let mut failed = reasons.filter(|reason| reason.code == ReasonCode::Failed);
    failed.next().map(|reason| reason.text.as_str())
}

/// `file:line` of the block that a message quotes; of no block, that of the definition of a
/// workload of the user's. None of a built-in workload whose SQL is not what failed: a session may
/// have been killed.
fn place_of(entry: &Entry, engine: &str, message: &str) -> Option<String> {
    let blocks = entry.blocks.for_engine(engine);
    let quoted = blocks.into_values().find(|block| is_quoted(&block.text, message));
    match quoted {
        Some(block) => Some(format!("{}:{}", block.file, block.text_line)),
        None => Some(entry.place.clone()).filter(|place| !place.starts_with(BUILT_IN)),
    }
}

/// Prefix of places in the built-in catalog.
const BUILT_IN: &str = "catalog/";

/// True if a message contains a piece of a block's text, between the values that are filled in.
fn is_quoted(text: &str, message: &str) -> bool {
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = spaced(message);
    let pieces = text.split("{{").map(|piece| piece.split("}}").last().unwrap_or_default());
    let longest = pieces.map(spaced).max_by_key(String::len).unwrap_or_default();
    longest.len() >= MIN_PIECE && message.contains(&longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_known_by_the_longest_piece_that_nothing_fills_in() {
        let block = "select cuont(*) as n\n  from {{small}}\n where region = :region";
        let message = "no such function: cuont (select cuont(*) as n from small where region = ?1)";
        assert!(is_quoted(block, message));
        assert!(!is_quoted("select sum(id) as n from {{small}}", message));
        assert!(!is_quoted("{{a}} n {{b}}", message));
    }
}
