//! Files of named SQL blocks, and how an engine's file lies over the common one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result, quote};

use super::template::unfit_placeholder;

/// One named block: `-- name: ID.block`, attribute lines `-- key: value`, comment lines, then its
/// text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Name as written: `ID.block`.
    pub name: String,
    /// `-- key: value` lines between the name and the text.
    pub attributes: BTreeMap<String, String>,
    /// Comment lines between the name and the text.
    pub doc: String,
    /// Text as written, without blank lines around it; [`statement`] makes it ready to run.
    pub text: String,
    /// File it stands in, for messages.
    pub file: String,
    /// Line of its name and of its first text line, from 1.
    pub line: usize,
    /// Line of its first text line, from 1.
    pub text_line: usize,
}

impl Block {
    /// `file:line` of the block.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
    /// `file:line` of a byte of its text.
    pub fn place_at(&self, offset: usize) -> String {
        let newlines = self.text[..offset.min(self.text.len())].matches('\n').count();
        format!("{}:{}", self.file, self.text_line + newlines)
    }
}

/// A block's text as one statement: no `;` and no blanks at its end.
pub fn statement(text: &str) -> &str {
    text.trim_end_matches(|c: char| c == ';' || c.is_whitespace())
}

/// Reads a file of named blocks. The same name may come again only with another `-- from:`
/// attribute.
///
/// # Errors
/// With `file:line`: text before the first block, a block without text, a name given twice, a bad
/// name.
pub fn parse_blocks(file: &str, text: &str) -> Result<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match (header(line), blocks.last_mut()) {
            (Some(name), _) => blocks.push(open_block(file, index + 1, name)?),
            (None, Some(block)) => add_line(block, index + 1, line)?,
            (None, None) if line.trim().is_empty() || line.starts_with("--") => {}
            (None, None) => return Err(before_first(file, index + 1)),
        }
    }
    for block in &mut blocks {
        block.text.truncate(block.text.trim_end().len());
        check_text(block)?;
        check_placeholders(block)?;
    }
    check_unique(&blocks)?;
    Ok(blocks)
}

/// The name in a `-- name: X` line.
fn header(line: &str) -> Option<&str> {
    line.strip_prefix("--")?.trim_start().strip_prefix("name:").map(str::trim)
}

fn open_block(file: &str, line: usize, name: &str) -> Result<Block> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(Error::usage(
            format!("{file}:{line}"),
            format!("{} is not a valid block name", quote(name)),
        )
        .advise("use letters, digits, '-', '_' and '.'"));
    }
    let (attributes, doc, text) = Default::default();
    Ok(Block {
        name: name.into(),
        attributes,
        doc,
        text,
        file: file.into(),
        line,
        text_line: line + 1,
    })
}

fn add_line(block: &mut Block, number: usize, line: &str) -> Result<()> {
    if !block.text.is_empty() {
        block.text.push('\n');
        block.text.push_str(line);
    } else if let Some(comment) = line.trim_start().strip_prefix("--") {
        return add_comment(block, number, comment.trim());
    } else if !line.trim().is_empty() {
        block.text_line = number;
        block.text.push_str(line);
    }
    Ok(())
}

fn add_comment(block: &mut Block, number: usize, comment: &str) -> Result<()> {
    if let Some((key, value)) = attribute(comment) {
        if block.attributes.insert(key.into(), value.into()).is_some() {
            let place = format!("{}:{number}", block.file);
            return Err(Error::usage(
                place,
                format!("block {} has two attributes {key}", block.name, key = quote(key)),
            ));
        }
        return Ok(());
    }
    if !block.doc.is_empty() {
        block.doc.push('\n');
    }
    block.doc.push_str(comment);
    Ok(())
}

/// `key: value` with a one-word key in lower case; anything else is prose.
fn attribute(comment: &str) -> Option<(&str, &str)> {
    let (key, value) = comment.split_once(": ")?;
    let is_key =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '-'));
    is_key.then(|| (key, value.trim()))
}

fn before_first(file: &str, line: usize) -> Error {
    Error::usage(format!("{file}:{line}"), "text before the first block")
        .advise("begin the block with '-- name: ID.block'")
}

/// `{{name}}` that is cut off, or names what is not a shared block, would reach the database as it
/// stands.
fn check_placeholders(block: &Block) -> Result<()> {
    match unfit_placeholder(&block.text) {
        None => Ok(()),
        Some((at, what)) => {
            Err(Error::usage(block.place_at(at), format!("block {}: {what}", block.name))
                .advise("write {{name}} with a value or a shared block: letters, digits and '_'"))
        }
    }
}

/// A block may have no text only if it says why (`-- nothing: reason`).
fn check_text(block: &Block) -> Result<()> {
    if statement(&block.text).is_empty() && !block.attributes.contains_key("nothing") {
        return Err(Error::usage(block.place(), format!("block {} is empty", block.name))
            .advise("write its statement, or say why there is none: '-- nothing: reason'"));
    }
    Ok(())
}

fn check_unique(blocks: &[Block]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for block in blocks {
        if let Some(line) = seen.insert((&block.name, block.attributes.get("from")), block.line) {
            let what = format!("block {} is already defined in line {line}", block.name);
            return Err(Error::usage(block.place(), what));
        }
    }
    Ok(())
}

/// Blocks of a folder by name: those of an engine's file lie over those of `common.sql`, both over
/// those that several folders share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockSet {
    common: BTreeMap<String, Block>,
    engines: BTreeMap<String, BTreeMap<String, Block>>,
    shared: Option<Arc<BlockSet>>,
}

impl BlockSet {
    /// Name of the file that holds for every engine, without `.sql`.
    pub const COMMON: &'static str = "common";

    /// Adds a parsed file; `stem` is `common` or an engine's name.
    ///
    /// # Errors
    /// If a name comes twice: versions of a block have no meaning here.
    pub fn add(&mut self, stem: &str, blocks: Vec<Block>) -> Result<()> {
        let target = match stem {
            Self::COMMON => &mut self.common,
            engine => self.engines.entry(engine.to_string()).or_default(),
        };
        for block in blocks {
            let place = block.place();
            if let Some(earlier) = target.insert(block.name.clone(), block) {
                let what =
                    format!("block {} is already defined in {}", earlier.name, earlier.place());
                return Err(Error::usage(place, what));
            }
        }
        Ok(())
    }

    /// Adds blocks that another engine lends to `engine`: those whose names it has not itself.
    pub fn add_below(&mut self, engine: &str, blocks: Vec<Block>) {
        let own = self.engines.entry(engine.to_string()).or_default();
        for block in blocks {
            own.entry(block.name.clone()).or_insert(block);
        }
    }

    /// This set over a set of blocks that other folders share with it.
    pub fn over(self, shared: &Arc<BlockSet>) -> Self {
        BlockSet { shared: Some(Arc::clone(shared)), ..self }
    }

    /// The block of this full name for `engine`.
    pub fn get(&self, engine: &str, name: &str) -> Option<&Block> {
        let own = self
            .engines
            .get(engine)
            .and_then(|blocks| blocks.get(name))
            .or_else(|| self.common.get(name));
        own.or_else(|| self.shared.as_ref()?.get(engine, name))
    }

    /// The block that `short` means within `id`: `<id>.<short>`, else `<short>` shared in the
    /// folder.
    pub fn resolve(&self, engine: &str, id: &str, short: &str) -> Option<&Block> {
        self.get(engine, &format!("{id}.{short}")).or_else(|| self.get(engine, short))
    }

    /// All blocks of the folder as they stand for `engine`, by name.
    pub fn for_engine(&self, engine: &str) -> BTreeMap<&str, &Block> {
        let own = self.engines.get(engine).into_iter().flatten();
        self.common.iter().chain(own).map(|(name, block)| (name.as_str(), block)).collect()
    }

    /// Every block of every file of the folder.
    pub fn all(&self) -> impl Iterator<Item = &Block> {
        self.common.values().chain(self.engines.values().flat_map(BTreeMap::values))
    }

    /// Engines that have a file of their own in the folder.
    pub fn engines(&self) -> impl Iterator<Item = &str> {
        self.engines.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- Shared statements.\n\n-- name: A.one\n-- from: 14\n-- Reads one \
                        row.\n-- Twice.\n\nselect 1\n  -- inner\n  from t;\n\n-- name: two\nupdate \
                        t set a = ';' ; select 2\n";

    #[test]
    fn reads_names_attributes_doc_and_text() {
        let blocks = parse_blocks("x.sql", FILE).unwrap();
        assert_eq!(blocks.len(), 2);
        let one = &blocks[0];
        assert_eq!((one.name.as_str(), one.line, one.text_line), ("A.one", 3, 8));
        assert_eq!(one.attributes, BTreeMap::from([("from".to_string(), "14".to_string())]));
        assert_eq!(one.doc, "Reads one row.\nTwice.");
        assert_eq!(statement(&one.text), "select 1\n  -- inner\n  from t");
        assert_eq!(one.place_at(one.text.find("from").unwrap()), "x.sql:10");
        assert_eq!(blocks[1].text, "update t set a = ';' ; select 2", "never split at ';'");
    }

    fn error(text: &str) -> String {
        parse_blocks("x.sql", text).unwrap_err().to_string()
    }

    #[test]
    fn a_placeholder_that_would_be_none_is_refused() {
        for (text, what) in [
            ("select 1\n from {{small where x", "{{small is not closed"),
            ("select 1\n from {{small}", "{{small is not closed"),
            ("select 1\n from {{ small", "{{small is not closed"),
            ("select 1\n {{A-ONE.get}}", "{{A-ONE.get}} is not a valid name"),
            ("select 1\n {{ q.x }}", "{{q.x}} is not a valid name"),
        ] {
            let said = error(&format!("-- name: q\n{text}"));
            assert!(said.starts_with(&format!("x.sql:3: block q: {what}")), "{text}: {said}");
        }
        for text in [
            "'{{1,2},{3,4}}'",
            "'{{a,b},{c,d}}'",
            "'{{a},{b}}'",
            "'{{\"a\"}}'",
            "{{small}} {{ q }}",
            "'{{}}'",
        ] {
            assert!(parse_blocks("x.sql", &format!("-- name: q\nselect {text}")).is_ok(), "{text}");
        }
    }

    #[test]
    fn broken_files_name_the_line() {
        assert!(error("\nselect 1;").starts_with("x.sql:2: text before the first block;"));
        assert!(
            error("-- name: a\n-- doc\n\n-- name: b\nx").starts_with("x.sql:1: block a is empty;")
        );
        assert!(error("-- name: a\n ;\n").starts_with("x.sql:1: block a is empty;"));
        assert_eq!(
            error("-- name: a\nx\n-- name: a\ny"),
            "x.sql:3: block a is already defined in line 1"
        );
        assert!(error("-- name: a b\nx").starts_with("x.sql:1: 'a b' is not a valid block name"));
        assert_eq!(
            error("-- name: a\n-- from: 1\n-- from: 2\nx"),
            "x.sql:3: block a has two attributes 'from'"
        );
    }

    #[test]
    fn versions_of_a_block_and_reasoned_nothing_are_allowed() {
        assert_eq!(
            parse_blocks("x", "-- name: a\n-- from: 1\nx\n-- name: a\n-- from: 2\ny")
                .unwrap()
                .len(),
            2
        );
        assert_eq!(
            parse_blocks("x", "-- name: a\n-- nothing: one file only\n").unwrap()[0].text,
            ""
        );
    }

    #[test]
    fn the_engines_file_lies_over_the_common_one() {
        let mut set = BlockSet::default();
        set.add(
            "common",
            parse_blocks("c", "-- name: A.q\n1\n-- name: q\n2\n-- name: r\n3").unwrap(),
        )
        .unwrap();
        set.add("pg", parse_blocks("p", "-- name: q\n4\n-- name: A.q\n5").unwrap()).unwrap();
        let text =
            |engine, id, short| set.resolve(engine, id, short).map(|block| block.text.as_str());
        assert_eq!((text("pg", "A", "q"), text("lite", "A", "q")), (Some("5"), Some("1")));
        assert_eq!((text("pg", "B", "q"), text("lite", "B", "q")), (Some("4"), Some("2")));
        assert_eq!((text("pg", "B", "r"), text("pg", "B", "s")), (Some("3"), None));
        assert_eq!(set.for_engine("pg").len(), 3);
        let versions =
            parse_blocks("x", "-- name: a\n-- from: 1\nx\n-- name: a\n-- from: 2\ny").unwrap();
        assert!(set.add("pg", versions).is_err());
    }

    #[test]
    fn blocks_that_folders_share_lie_below_those_of_each() {
        let set = |stem: &str, text: &str| {
            let mut set = BlockSet::default();
            set.add(stem, parse_blocks("x", text).unwrap()).unwrap();
            set
        };
        let folder = set("common", "-- name: q\n1")
            .over(&Arc::new(set("pg", "-- name: q\n2\n-- name: r\n3")));
        let text =
            |engine, short| folder.resolve(engine, "A", short).map(|block| block.text.as_str());
        assert_eq!(
            (text("pg", "q"), text("pg", "r"), text("lite", "r")),
            (Some("1"), Some("3"), None)
        );
        assert_eq!(folder.engines().count(), 0, "what is shared is not written for the folder");
    }
}
