//! The client drive of a workload as a script of another client.

use std::collections::BTreeMap;

use dbdyno::model::{Bind, BoundStatement, Branch, Commit, JobCode, Selection};

use super::lab::Lab;

/// The client drive of a workload as a script of another client.
pub struct Script {
    branches: Vec<Branch>,
    /// Upper ends of the keys that are drawn, by the name of the bind; 1 for the job's number.
    keys: BTreeMap<String, u64>,
    binds: usize,
}

impl Script {
    /// The script of a selection in the client drive.
    pub fn new(lab: &Lab, selection: &Selection) -> Script {
        let (mut branches, mut keys, mut count) = (Vec::new(), BTreeMap::new(), 0);
        if let JobCode::Client { branches: all, binds, .. } = &selection.parts[0].code {
            branches.clone_from(all);
            count = binds.len();
            let facts = lab.loaded.facts_for(&[]);
            for (name, bind) in binds {
                let end = match bind {
                    Bind::Random(end) => end.eval(&facts).ok().map(|end| end as u64),
                    Bind::Job => Some(1),
                    _ => None,
                };
                keys.extend(end.map(|end| (name.clone(), end)));
            }
        }
        Script { branches, keys, binds: count }
    }

    /// True if the other clients can do all that it does.
    pub fn is_whole(&self) -> bool {
        !self.branches.is_empty()
            && self.keys.len() == self.binds
            && self.branches.iter().all(|branch| branch.times == 1)
    }

    /// Its text for pgbench.
    pub fn to_pgbench(&self) -> String {
        let marks: BTreeMap<&str, String> =
            self.keys.keys().map(|name| (name.as_str(), format!(":{name}"))).collect();
        let mut text: String = self
            .keys
            .iter()
            .map(|(name, end)| format!("\\set {name} random(1, {end})\n"))
            .collect();
        let is_mixed = self.branches.len() > 1;
        if is_mixed {
            text.push_str("\\set draw random(0, 99)\n");
        }
        for (number, branch) in self.branches.iter().enumerate() {
            if is_mixed {
                let word = if number == 0 { "if" } else { "elif" };
                text.push_str(&format!("\\{word} :draw < {}\n", branch.upto));
            }
            let mut lines: Vec<String> =
                branch.statements.iter().map(|one| one.with_values(|name| &marks[name])).collect();
            if branch.commit == Commit::Block {
                lines.insert(0, "begin".into());
                lines.push("commit".into());
            }
            text.extend(lines.iter().map(|line| format!("{line};\n")));
        }
        if is_mixed {
            text.push_str("\\endif\n");
        }
        text
    }

    /// Its text for sysbench, in Lua.
    pub fn to_sysbench(&self) -> String {
        let (mut prepare, mut event) = (String::new(), String::new());
        for (number, branch) in self.branches.iter().enumerate() {
            let word = if number == 0 { "if" } else { "elseif" };
            event.push_str(&format!("  {word} draw < {} then\n", branch.upto));
            if branch.commit == Commit::Block {
                event.push_str("    connection:query(\"begin\")\n");
            }
            for (place, statement) in branch.statements.iter().enumerate() {
                let lua = LuaStatement::new(&format!("s{number}_{place}"), statement);
                prepare.push_str(&lua.prepare);
                event.push_str(&lua.execute);
            }
            if branch.commit == Commit::Block {
                event.push_str("    connection:query(\"commit\")\n");
            }
        }
        let keys: String = self
            .keys
            .iter()
            .map(|(name, end)| format!("  local {name} = sysbench.rand.uniform(1, {end})\n"))
            .collect();
        format!(
            "function thread_init()\n  connection = \
             sysbench.sql.driver():connect()\n{prepare}end\nfunction thread_done()\n  \
             connection:disconnect()\nend\nfunction event()\n{keys}  local draw = \
             sysbench.rand.uniform(0, 99)\n{event}  end\nend\nfunction \
             sysbench.hooks.report_cumulative(stat)\n  print(string.format(\"witness %.4f %.4f\", \
             stat.latency_avg * 1e6, stat.latency_pct * 1e6))\nend\n"
        )
    }
}

/// A prepared statement in a script of sysbench.
struct LuaStatement {
    /// Lines that prepare it once.
    prepare: String,
    /// Lines that execute it with new keys.
    execute: String,
}

impl LuaStatement {
    fn new(name: &str, statement: &BoundStatement) -> LuaStatement {
        let text = statement.sql.replace(['\n', '\r'], " ").replace('"', "\\\"");
        let mut prepare = format!("  {name} = connection:prepare(\"{text}\")\n");
        let (mut execute, mut binds) = (String::new(), Vec::new());
        for (number, key) in statement.binds.iter().enumerate() {
            let bind = format!("{name}_{number}");
            prepare.push_str(&format!("  {bind} = {name}:bind_create(sysbench.sql.type.BIGINT)\n"));
            execute.push_str(&format!("    {bind}:set({key})\n"));
            binds.push(bind);
        }
        if !binds.is_empty() {
            prepare.push_str(&format!("  {name}:bind_param({})\n", binds.join(", ")));
        }
        execute.push_str(&format!("    {name}:execute()\n"));
        LuaStatement { prepare, execute }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(sql: &str) -> BoundStatement {
        BoundStatement { name: "s".into(), sql: sql.into(), binds: vec!["id".into()] }
    }

    fn branch(upto: f64, commit: Commit, sql: &[&str]) -> Branch {
        let statements = sql.iter().map(|sql| statement(sql)).collect();
        Branch { upto, commit, statements, times: 1 }
    }

    /// A transaction that reads and changes a row, and a read alone.
    fn script() -> Script {
        let read = "select a\nfrom \"t\" where id = ?";
        let change = "update t set a = 1 where id = ?";
        let branches = vec![
            branch(20.0, Commit::Block, &[read, change]),
            branch(100.0, Commit::Auto, &[read]),
        ];
        Script { branches, keys: BTreeMap::from([("id".to_owned(), 500)]), binds: 1 }
    }

    #[test]
    fn pgbench_draws_a_key_and_a_branch() {
        assert!(script().is_whole());
        let expected = "\
\\set id random(1, 500)
\\set draw random(0, 99)
\\if :draw < 20
begin;
select a
from \"t\" where id = :id;
update t set a = 1 where id = :id;
commit;
\\elif :draw < 100
select a
from \"t\" where id = :id;
\\endif
";
        assert_eq!(script().to_pgbench(), expected);
    }

    #[test]
    fn sysbench_prepares_once_and_executes_with_new_keys() {
        let expected = "\
function thread_init()
  connection = sysbench.sql.driver():connect()
  s0_0 = connection:prepare(\"select a from \\\"t\\\" where id = ?\")
  s0_0_0 = s0_0:bind_create(sysbench.sql.type.BIGINT)
  s0_0:bind_param(s0_0_0)
  s0_1 = connection:prepare(\"update t set a = 1 where id = ?\")
  s0_1_0 = s0_1:bind_create(sysbench.sql.type.BIGINT)
  s0_1:bind_param(s0_1_0)
  s1_0 = connection:prepare(\"select a from \\\"t\\\" where id = ?\")
  s1_0_0 = s1_0:bind_create(sysbench.sql.type.BIGINT)
  s1_0:bind_param(s1_0_0)
end
function thread_done()
  connection:disconnect()
end
function event()
  local id = sysbench.rand.uniform(1, 500)
  local draw = sysbench.rand.uniform(0, 99)
  if draw < 20 then
    connection:query(\"begin\")
    s0_0_0:set(id)
    s0_0:execute()
    s0_1_0:set(id)
    s0_1:execute()
    connection:query(\"commit\")
  elseif draw < 100 then
    s1_0_0:set(id)
    s1_0:execute()
  end
end
function sysbench.hooks.report_cumulative(stat)
  print(string.format(\"witness %.4f %.4f\", stat.latency_avg * 1e6, stat.latency_pct * 1e6))
end
";
        assert_eq!(script().to_sysbench(), expected);
    }
}
