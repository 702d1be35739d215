//! Description of a script pack in its results file (see the head of `run.sh`), and the scripts
//! that ask the server for the rest of it: counters, settings, version, facts of the tables.

use sha2::{Digest, Sha256};

use dbdyno_core::error::Result;
use dbdyno_core::model::Selection;
use dbdyno_core::sql::{Block, Values, statement};

use super::load::Tables;
use super::{Export, Script};

/// Files of blocks that a server's version chooses are named after the version from which on they
/// fit; the first fits every one.
const ANY: &[u32] = &[0];

impl Export<'_> {
    /// The head of a spool: which pack it is of.
    pub fn pack_head(&self, scripts: &[Script]) -> String {
        let mut hash = Sha256::new();
        for script in scripts {
            hash.update(&script.path);
            hash.update([0]);
            hash.update(&script.text);
        }
        let pack: String =
            hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let (version, engine, plan) = (env!("CARGO_PKG_VERSION"), self.engine.name(), self.plan);
        let (size_gb, seed) = (plan.size_gb, plan.seed);
        format!(
            "dbdyno-spool 1\npack {pack}\ndbdyno {version}\nengine {engine}\nsize_gb \
             {size_gb}\nseed {seed}\n"
        )
    }

    /// Head of a test in a script results file.
    pub fn test_head(&self, selection: &Selection, name: &str) -> String {
        let mut head = format!("test {name}\nworkload {}\n", selection.workload.id);
        selection
            .chosen
            .iter()
            .for_each(|(name, value)| head += &format!("param {name} {value}\n"));
        head + &format!("hash {}\n", selection.hash)
    }

    /// The scripts by which the server is asked; none for an engine whose own scripts write the
    /// spool.
    pub(super) fn questions(&self) -> Result<Vec<Script>> {
        let Ok(quiet) = self.block("quiet") else { return Ok(Vec::new()) };
        let mut scripts = vec![Script::new("quiet.sql", format!("{}\n", quiet.text.trim_end()))];
        let versions = self.catalog.probe_versions(self.engine.name());
        for version in std::iter::once(ANY.to_vec()).chain(versions) {
            let name = version.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
            for (kind, is_own) in KINDS {
                let blocks = self.catalog.probes(self.engine.name(), &version);
                let texts = blocks.iter().filter(|block| is_own(&block.name) && is_query(block));
                let texts =
                    texts.map(|block| self.statement(&block.text)).collect::<Result<String>>()?;
                scripts.push(Script::new(format!("{kind}.{name}.sql"), texts));
            }
        }
        Ok(scripts)
    }
}

/// Test that says whether a block of the probes is in a file.
type BlockFilter = fn(&str) -> bool;
const KINDS: [(&str, BlockFilter); 3] = [
    ("counters", |name| name.starts_with("counters.")),
    ("settings", |name| name.starts_with("settings.")),
    ("version", |name| name == "version"),
];

/// One statement with one result: what cannot be asked so is left out.
fn is_query(block: &&&Block) -> bool {
    ["select", "show", "with"]
        .iter()
        .any(|word| statement(&block.text).trim_start().to_lowercase().starts_with(word))
}

impl Tables<'_> {
    /// Asks for the facts of the tables that a workload uses: one row each, first their kind; or as
    /// a block `facts.<block>` does.
    pub(super) fn facts(&self, selection: &Selection) -> Result<String> {
        let mut text = String::new();
        for table in &selection.tables {
            for block in ["sizes", "parts"] {
                let values = Values::from([
                    ("kind".to_string(), table.kind.clone()),
                    ("sql".to_string(), statement(&self.about(table, block)?).to_string()),
                ]);
                let own = format!("facts.{block}");
                let template = if self.export.block(&own).is_ok() { &own } else { "facts" };
                text += &self.export.statement(&self.export.template(template, &values)?)?;
            }
        }
        Ok(text)
    }
}
