//! The hash of a selection: equal hashes did the same work.

use sha2::{Digest, Sha256};

use super::params::Params;
use crate::model::vectors::VectorSet;
use crate::model::{Bind, BoundStatement, Branch, Commit, JobCode, PartPlan};

/// SHA-256 over revision, parameters and texts, with this many hex digits.
pub(super) fn of_texts<'a>(
    revision: u32,
    params: &Params,
    texts: impl Iterator<Item = &'a str>,
    digits: usize,
) -> String {
    let digest = digest(revision, params, texts);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..digits].to_string()
}

/// Texts that describe the work of a part: of its parameters those given, and all SQL.
pub(super) fn of_part(params: &Params, part: &PartPlan) -> Vec<String> {
    let mut sql: Vec<String> =
        params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    sql.extend(part.setup_sql());
    sql.extend(part.session.iter().cloned());
    sql.extend(part.hold.iter().map(|statement| format!("held {statement}")));
    sql.extend((part.idle > 0).then(|| format!("{} idle sessions", part.idle)));
    sql.extend(part.vectors.map(|vectors| format!("vectors {:?}", numbers(vectors))));
    match &part.code {
        JobCode::Routine(routine) => sql.push(routine.call.sql.clone()),
        JobCode::Client { branches, binds, shared_read, hits, connects } => {
            sql.extend(hits.then(|| "hits".to_string()));
            sql.extend(connects.then(|| "connects".to_string()));
            sql.extend(branches.iter().flat_map(branch_fields));
            sql.extend(binds.iter().map(|(name, bind)| format!("{name} {}", bind_text(bind))));
            sql.push(format!("shared read {shared_read}"));
        }
        JobCode::Bulk { table, batch } => sql.push(format!("{table} {batch}")),
    }
    sql.extend(part.teardown_sql());
    sql
}

fn numbers(vectors: VectorSet) -> [u64; 5] {
    let VectorSet { rows, queries, near, share_pct, added } = vectors;
    [rows, queries, near, share_pct, added]
}

/// Fields that describe a branch, in fixed words: names of Rust must not change a hash.
fn branch_fields(branch: &Branch) -> Vec<String> {
    let Branch { upto, commit, statements, times } = branch;
    let commit = match commit {
        Commit::None => "none",
        Commit::Auto => "auto",
        Commit::Block => "block",
    };
    let head = format!("branch up to {upto} %, commit {commit}, {times} times");
    let of = |statement: &BoundStatement| [statement.sql.clone(), statement.binds.join(",")];
    std::iter::once(head).chain(statements.iter().flat_map(of)).collect()
}

fn bind_text(bind: &Bind) -> String {
    match bind {
        Bind::Random(to) | Bind::Keyed(to) => format!("random {}", to.0),
        Bind::Skewed { rows, keys, place } => format!("{keys} {rows} {place}"),
        Bind::Job => "job".into(),
        Bind::Sequence => "sequence".into(),
        Bind::Repetition => "repetition".into(),
        Bind::Constant(value) => format!("constant {}", value.0),
    }
}

/// Fields are closed by a zero byte, so that no two lists of fields have the same bytes.
fn digest<'a>(revision: u32, params: &Params, texts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut hasher = Sha256::new();
    let mut field = |text: &str| {
        hasher.update(text.as_bytes());
        hasher.update([0]);
    };
    field(&revision.to_string());
    params.iter().for_each(|(name, value)| field(&format!("{name}={value}")));
    texts.for_each(|text| field(&without_marks(text)));
    hasher.finalize().to_vec()
}

/// The mark on objects that dbdyno made is no work that is measured: tests of before it are the
/// same.
fn without_marks(text: &str) -> String {
    let mut text = text.to_string();
    while let Some(at) = text.find(MARK_BEGIN) {
        let Some(end) = text[at..].find(MARK) else { break };
        text.replace_range(at..at + end + MARK.len(), "");
    }
    OPTIONS.iter().fold(text, |text, option| text.replace(option, ""))
}

/// A statement of its own behind the one that makes the object.
const MARK_BEGIN: &str = ";\ncomment on ";
const MARK: &str = "'made by dbdyno'";
/// Options of the statement that makes the object.
const OPTIONS: [&str; 2] = [" comment = 'made by dbdyno'", " comment 'made by dbdyno'"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::Expr;

    fn hash(branches: Vec<Branch>, bind: Bind) -> String {
        let binds = BTreeMap::from([("key".to_string(), bind)]);
        let part = PartPlan::bare(
            "T",
            JobCode::Client { branches, binds, shared_read: false, hits: false, connects: false },
        );
        let texts = of_part(&Params::new(), &part);
        of_texts(1, &Params::new(), texts.iter().map(String::as_str), 16)
    }

    fn branch(sql: &str) -> Branch {
        let statement =
            BoundStatement { name: "one".into(), sql: sql.into(), binds: vec!["key".into()] };
        Branch { upto: 100.0, commit: Commit::None, statements: vec![statement], times: 1 }
    }

    #[test]
    fn marks_do_not_change_a_hash() {
        for (marked, plain) in [
            (
                "create table t (a int);\ncomment on table t is 'made by dbdyno';\ndo $$ $$",
                "create table t (a int);\ndo $$ $$",
            ),
            ("create table t (a);\ncomment on table t is 'made by dbdyno'", "create table t (a)"),
            ("create table t (a int) comment = 'made by dbdyno'", "create table t (a int)"),
            ("sql security invoker comment 'made by dbdyno'\nbegin", "sql security invoker\nbegin"),
        ] {
            assert_eq!(without_marks(marked), plain);
        }
    }

    #[test]
    fn a_hash_is_that_of_the_stated_fields() {
        // As sha256sum has it over the fields, each closed by a zero byte.
        assert_eq!(hash(vec![branch("select 1")], Bind::Job), "5dfd85e51ef1c740");
        let of = |branch| hash(vec![branch], Bind::Job);
        let one = branch("select 1");
        let others = [
            of(Branch { upto: 50.0, ..one.clone() }),
            of(Branch { commit: Commit::Auto, ..one.clone() }),
            of(Branch { times: 2, ..one.clone() }),
            of(branch("select 2")),
            hash(vec![one.clone()], Bind::Sequence),
            hash(vec![one.clone()], Bind::Random(Expr("9".into()))),
            hash(vec![one.clone()], Bind::Constant(Expr("9".into()))),
            hash(vec![one.clone(), one.clone()], Bind::Job),
        ];
        let mut distinct = others.to_vec();
        distinct.push(of(one));
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 9);
    }
}
