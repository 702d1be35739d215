//! The part of a plan that can go through a pooler.

use std::borrow::Cow;

use super::{Event, Platform, Sink};
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::params::assignments;
use dbdyno_core::model::{LeftOut, Plan, Protocol, Selection, Transport};
use dbdyno_engines::engine::Pooler;

/// The plan without what the pooler breaks; a note says what that is.
///
/// # Errors
/// Nothing is left to run without it.
pub(super) fn passable<'a>(
    plan: Cow<'a, Plan>,
    platform: &Platform,
    events: &Sink<'_>,
) -> Result<Cow<'a, Plan>> {
    let Some(pooler) = platform.pooler() else { return Ok(plan) };
    pooler.broken().iter().for_each(|line| events(Event::Note(line)));
    let lacks = |selection: &Selection| reason(pooler, selection);
    if plan.selections.iter().all(|selection| lacks(selection).is_none()) {
        return Ok(plan);
    }
    let mut plan = plan.into_owned();
    let (gone, left): (Vec<_>, Vec<_>) =
        plan.selections.drain(..).partition(|selection| lacks(selection).is_some());
    plan.selections = left;
    for selection in &gone {
        let label =
            format!("{}:{}", selection.workload.id, assignments(&selection.wire.params(), ","));
        plan.left_out.push(LeftOut::new(label, lacks(selection).unwrap_or_default()));
    }
    match (plan.selections.is_empty(), plan.left_out.last()) {
        (true, Some(LeftOut { label, reason })) => {
            Err(Error::target(platform.label(), format!("nothing can run: {label}: {reason}")))
        }
        _ => Ok(Cow::Owned(plan)),
    }
}

/// The entries of the disclosure about the pooler: which it is, if that is known, and what it
/// keeps.
pub(super) fn disclose(platform: &Platform) -> Vec<(&'static str, String)> {
    let Some(pooler) = platform.pooler() else { return Vec::new() };
    let mode = if pooler.lends { "transaction" } else { "session" };
    let prepared = if pooler.keeps_prepared { "yes" } else { "no" };
    let kept = [("pooler_mode", mode), ("pooler_keeps_prepared", prepared)];
    let name = pooler.name.iter().map(|name| ("pooler", name.clone()));
    name.chain(kept.map(|(name, value)| (name, value.to_string()))).collect()
}

/// The reason why a selection cannot go through the pooler, if it cannot.
fn reason(pooler: &Pooler, selection: &Selection) -> Option<&'static str> {
    if selection.wire.transport != Transport::Pooler {
        return None;
    }
    let parts = || selection.with_background().flat_map(|one| &one.parts);
    let is_prepared = selection.wire.protocol != Protocol::Simple && !selection.workload.connects;
    if is_prepared && !pooler.keeps_prepared {
        return Some("the pooler does not keep prepared statements");
    }
    if pooler.lends && parts().any(|part| !part.session.is_empty()) {
        return Some("the pooler does not keep the settings that a session of it needs");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::tests::selection as selected;
    use dbdyno_core::model::{Ramp, Wire};

    #[test]
    fn what_a_pooler_breaks_does_not_go_through_it() {
        let mut selection = selected("W", Ramp::Fixed(vec![1]), 1);
        let lending = Pooler { lends: true, ..Pooler::default() };
        assert_eq!(reason(&lending, &selection), None, "it goes directly");
        selection.wire = Wire { transport: Transport::Pooler, protocol: Protocol::Prepared };
        assert!(reason(&lending, &selection).unwrap().contains("prepared statements"));
        assert_eq!(reason(&Pooler { keeps_prepared: true, ..lending.clone() }, &selection), None);
        selection.wire.protocol = Protocol::Simple;
        assert_eq!(reason(&lending, &selection), None);
        selection.parts[0].session = vec!["set a = 1".into()];
        assert!(reason(&lending, &selection).unwrap().contains("settings"));
        assert_eq!(reason(&Pooler::default(), &selection), None);
    }
}
