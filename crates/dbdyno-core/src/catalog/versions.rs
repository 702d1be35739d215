//! Versions of servers: which version of a block fits one (`-- from: 14`, inclusive; `-- until:
//! 17`, exclusive), and which are confirmed (`[[confirmed]]` in `engines/<engine>.toml`).

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, quote};
use crate::sql::Block;

/// A version of an engine on which the whole program is known to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmedVersion {
    /// Leading numbers of the version: `15` is every 15.x, `10.11` every 10.11.x.
    pub version: String,
    /// The version of dbdyno since which it is confirmed, the day (RFC 3339), and by what.
    pub since: String,
    /// Day of the confirmation, RFC 3339.
    pub on: String,
    /// Evidence that confirms it, in words.
    pub by: String,
}

impl ConfirmedVersion {
    pub(super) fn numbers(&self) -> Option<Vec<u32>> {
        dotted(&self.version)
    }
}

/// True if one of the confirmed versions covers this one.
pub(super) fn is_confirmed(confirmed: &[ConfirmedVersion], version: &[u32]) -> bool {
    confirmed
        .iter()
        .filter_map(ConfirmedVersion::numbers)
        .any(|numbers| version.starts_with(&numbers))
}

/// The newest block of each name that is not newer than `version`, unless the block has ended; in
/// order of first mention.
pub(super) fn select<'a>(blocks: &'a [Block], version: &[u32]) -> Vec<&'a Block> {
    let mut names: Vec<&str> = Vec::new();
    blocks.iter().for_each(|block| {
        if !names.contains(&block.name.as_str()) {
            names.push(&block.name);
        }
    });
    names.into_iter().filter_map(|name| newest(blocks, name, version)).collect()
}

/// The versions at which another block of a name begins to fit, or one ends; in order.
pub(super) fn borders(blocks: &[Block]) -> Vec<Vec<u32>> {
    let of = |block| {
        ["from", "until"].into_iter().filter_map(move |attribute| numbers(block, attribute))
    };
    let mut borders: Vec<Vec<u32>> = blocks.iter().flat_map(of).collect();
    borders.sort();
    borders.dedup();
    borders
}

fn newest<'a>(blocks: &'a [Block], name: &str, version: &[u32]) -> Option<&'a Block> {
    let fitting =
        blocks.iter().filter(|block| block.name == name && from(block).as_slice() <= version);
    let newest = fitting.max_by_key(|block| from(block))?;
    let ended = numbers(newest, "until").is_some_and(|until| until.as_slice() <= version);
    (!ended).then_some(newest)
}

fn from(block: &Block) -> Vec<u32> {
    numbers(block, "from").unwrap_or_default()
}

fn numbers(block: &Block, attribute: &str) -> Option<Vec<u32>> {
    dotted(block.attributes.get(attribute)?)
}

fn dotted(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// Checks that version attributes are dotted numbers.
///
/// # Errors
/// With `file:line` of the block.
pub(super) fn check(block: &Block) -> Result<()> {
    for attribute in ["from", "until"] {
        if block.attributes.contains_key(attribute) && numbers(block, attribute).is_none() {
            let what = format!("{} is not a valid version", quote(&block.attributes[attribute]));
            return Err(
                Error::usage(block.place(), what).advise("write numbers with dots: 14 or 10.6")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse_blocks;

    #[test]
    fn the_newest_not_above_the_version_wins_and_may_end() {
        let text = "-- name: a\nold\n-- name: a\n-- from: 14\nmid\n-- name: a\n-- from: \
                    16.2\nnew\n-- name: b\n-- until: 17\nb";
        let blocks = parse_blocks("p.sql", text).unwrap();
        let at = |version: &[u32]| {
            select(&blocks, version).iter().map(|b| b.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(at(&[13]), ["old", "b"]);
        assert_eq!(at(&[15, 18]), ["mid", "b"]);
        assert_eq!(at(&[16, 2]), ["new", "b"]);
        assert_eq!(at(&[17]), ["new"]);
    }

    #[test]
    fn a_version_is_confirmed_by_its_leading_numbers() {
        let of = |version: &str| ConfirmedVersion {
            version: version.into(),
            since: "0.1.0".into(),
            on: "2026-11-23".into(),
            by: "our tests".into(),
        };
        let confirmed = [of("10.11"), of("11.4")];
        assert!(is_confirmed(&confirmed, &[10, 11, 19]) && is_confirmed(&confirmed, &[11, 4, 5]));
        assert!(!is_confirmed(&confirmed, &[10, 1, 48]) && !is_confirmed(&[], &[1]));
    }

    #[test]
    fn a_version_is_numbers() {
        let block = &parse_blocks("p.sql", "-- name: a\n-- from: v14\nx").unwrap()[0];
        assert!(
            check(block)
                .unwrap_err()
                .to_string()
                .starts_with("p.sql:1: 'v14' is not a valid version")
        );
    }
}
