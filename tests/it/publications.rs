//! The published studies, imported once for all tests of this process: the import judges three
//! thousand figures, and most tests only read them.

use std::sync::OnceLock;

use dbdyno::catalog::Group;
use dbdyno::import::{Text, published};
use dbdyno::report::{Input, RunTests};

use crate::support::Desk;

const RESULTS: &str = "data/reference/published-results.csv";
const PLATFORMS: &str = "data/reference/platforms.csv";

/// The command that imports the studies.
pub fn import() -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("results import --csv {root}/{RESULTS} --platforms {root}/{PLATFORMS}")
}

/// A desk whose results file holds the studies: a copy of the one that the first such test
/// imported, which nobody changes.
pub fn desk() -> Desk {
    static IMPORTED: OnceLock<Desk> = OnceLock::new();
    let imported = IMPORTED.get_or_init(|| {
        let desk = Desk::new();
        desk.run(&import()).ok();
        assert!(!desk.runs().is_empty());
        desk
    });
    imported.copy()
}

/// The studies as reports take them, and the groups of the catalog.
struct Publications {
    runs: Vec<RunTests>,
    groups: Vec<Group>,
}

impl Publications {
    fn read() -> Publications {
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        let (results, platforms) = (read(RESULTS), read(PLATFORMS));
        let catalog = crate::support::catalog();
        let platforms = Text { place: "platforms", text: &platforms };
        let results = Text { place: RESULTS, text: &results };
        let imported = published(results, Some(platforms), &catalog, "").unwrap();
        let runs = imported.into_iter().map(|run| RunTests {
            run: run.run,
            tests: run.tests.into_iter().map(Into::into).collect(),
        });
        Publications { runs: runs.collect(), groups: catalog.groups().to_vec() }
    }
}

/// The published runs of these names, in that order.
pub fn input(names: &[&str]) -> Input {
    static PUBLICATIONS: OnceLock<Publications> = OnceLock::new();
    let Publications { runs, groups } = PUBLICATIONS.get_or_init(Publications::read);
    let of = |name: &&str| {
        runs.iter().find(|data| data.run.name.as_deref() == Some(*name)).unwrap().clone()
    };
    Input { runs: names.iter().map(of).collect(), groups: groups.clone(), ..Input::default() }
}
