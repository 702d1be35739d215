//! Links between pages: by the addresses of a server, or as files beside each other.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::query::Query;

/// A page, or a file that pages use.
pub(super) enum Address<'a> {
    Platforms,
    Runs,
    Run(i64),
    Test(i64, u32),
    /// Runs side by side, the first is the base.
    Compared(&'a [i64]),
    Histories,
    History(&'a Query),
    Catalog,
    File(&'static str),
}

/// The links of a page.
#[derive(Clone, Copy)]
pub(super) enum Links<'a> {
    /// Paths of a server.
    Served,
    /// From a file to others: `up` leads to the directory of the first page, `there` are the files
    /// that are written.
    Files { up: &'static str, there: &'a BTreeSet<String> },
}

impl Links<'_> {
    /// The link to a page; none if there is no such page.
    pub fn to(&self, address: &Address<'_>) -> Option<String> {
        match self {
            Links::Served => path_on_server(address),
            Links::Files { up, there } => {
                let file = file(address);
                there.contains(&file).then(|| format!("{up}{file}"))
            }
        }
    }

    /// True if pages are answers of a server, which knows what a form asks for.
    pub fn are_served(&self) -> bool {
        matches!(self, Links::Served)
    }
}

fn path_on_server(address: &Address<'_>) -> Option<String> {
    Some(match address {
        Address::Platforms | Address::Catalog => return None,
        Address::Runs => "/".into(),
        Address::Run(run) => format!("/run/{run}"),
        Address::Test(run, test) => format!("/run/{run}/test/{test}"),
        Address::Compared(runs) => {
            let runs = runs.iter().map(|run| ("run", run.to_string()));
            format!("/compare{}", Query::from_pairs(runs).text())
        }
        Address::Histories => "/history".into(),
        Address::History(query) => format!("/history{}", query.text()),
        Address::File(name) => format!("/{name}"),
    })
}

/// The name of the file that holds a page, from the directory of the first page.
pub(super) fn file(address: &Address<'_>) -> String {
    match address {
        Address::Platforms => "index.html".into(),
        Address::Runs => "runs.html".into(),
        Address::Run(run) => format!("run/{run}.html"),
        Address::Test(run, test) => format!("run/{run}-{test}.html"),
        Address::Compared(runs) => {
            let runs: Vec<String> = runs.iter().map(i64::to_string).collect();
            format!("compare/{}.html", runs.join("-"))
        }
        Address::Histories => "histories.html".into(),
        Address::History(query) => history(query),
        Address::Catalog => "catalogue.html".into(),
        Address::File(name) => (*name).into(),
    }
}

/// The workload, as far as a file's name can hold it, and a digest of all that is asked for.
fn history(query: &Query) -> String {
    let workload = query.get("workload").unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let workload: String = workload.chars().take(60).map(plain).collect();
    let digest = Sha256::digest(query.text());
    let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("history/{workload}-{digest}.html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_where_the_page_is_and_only_if_it_is_there() {
        let there = BTreeSet::from(["run/3.html".to_string(), "compare/3-1.html".to_string()]);
        let links = Links::Files { up: "../", there: &there };
        assert_eq!(links.to(&Address::Run(3)).as_deref(), Some("../run/3.html"));
        assert_eq!(links.to(&Address::Compared(&[3, 1])).as_deref(), Some("../compare/3-1.html"));
        assert_eq!(links.to(&Address::Run(4)), None);
        assert_eq!(Links::Served.to(&Address::Run(4)).as_deref(), Some("/run/4"));
    }

    #[test]
    fn the_file_of_a_history_holds_no_sign_of_its_workload_that_a_path_could_not() {
        let named =
            |workload: &str| history(&Query::from_pairs([("workload", workload.to_string())]));
        let name = named("../a b/\u{fc}");
        assert!(name.starts_with("history/___a_b__-") && name.ends_with(".html"), "{name}");
        assert_ne!(named("a b"), named("a_b"), "a digest tells them apart");
    }
}
