//! Nodes of a cluster that the tests of a plan can use.

use std::borrow::Cow;

use super::{Event, Platform, Sink};
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{LeftOut, Plan, Selection};

/// The plan without tests that write on more nodes than can be written to; a note names them, and
/// those that write on fewer nodes than there are.
///
/// # Errors
/// More nodes are asked for than there are; nothing is left.
pub(super) fn on_nodes<'a>(
    plan: Cow<'a, Plan>,
    platform: &Platform,
    events: &Sink<'_>,
) -> Result<Cow<'a, Plan>> {
    let (nodes, writable) = (platform.database.nodes().len(), platform.database.writable_nodes());
    let most =
        plan.selections.iter().filter_map(|selection| selection.nodes).max().unwrap_or(0) as usize;
    if most > nodes {
        return Err(too_many(most, nodes, &platform.label()));
    }
    if writable == nodes || !plan.selections.iter().any(Selection::writes) {
        return Ok(plan);
    }
    let here = format!("{writable} of {nodes} nodes can be written to");
    let (plan, gone) = without_writers(plan.into_owned(), writable, &here);
    if plan.selections.is_empty() {
        return Err(Error::usage("--nodes", format!("every workload writes, and {here}"))
            .advise(format!("give --nodes {writable}, or workloads that only read")));
    }
    for label in gone {
        events(Event::Note(&format!("{label} is left out: it writes, and {here}")));
    }
    let on_few =
        plan.selections.iter().filter(|selection| selection.nodes.is_none() && selection.writes());
    for selection in on_few {
        events(Event::Note(&format!(
            "{} writes: its jobs are on {writable} of {nodes} nodes",
            selection.label()
        )));
    }
    Ok(Cow::Owned(plan))
}

fn too_many(asked: usize, nodes: usize, label: &str) -> Error {
    let has = if nodes == 0 { "is not named as a cluster".into() } else { format!("has {nodes}") };
    Error::usage("--nodes", format!("{asked} nodes are asked for, and {label} {has}"))
        .advise("name every node in the URL (host,host?nodes=all), or fewer in --nodes")
}

/// The plan without selections that write on more nodes than `writable`, and how those are called.
fn without_writers(mut plan: Plan, writable: usize, here: &str) -> (Plan, Vec<String>) {
    let can = |selection: &Selection| {
        !selection.writes() || selection.nodes.is_none_or(|nodes| nodes as usize <= writable)
    };
    let (left, gone): (Vec<_>, Vec<_>) = plan.selections.drain(..).partition(can);
    plan.selections = left;
    let name = |selection: &Selection| {
        format!("{} on {} nodes", selection.label(), selection.nodes.unwrap_or(0))
    };
    let gone: Vec<String> = gone.iter().map(name).collect();
    plan.left_out.extend(gone.iter().map(|name| LeftOut::new(name, here)));
    (plan, gone)
}
