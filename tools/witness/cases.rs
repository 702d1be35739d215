//! The workloads that witnesses look at, and what a witness sees of an op.

use dbdyno::model::Tally;

/// A workload, and its statements as they arrive at a server.
pub struct Case {
    /// Id on the command line.
    pub id: &'static str,
    /// Ops per job of the count.
    pub ops: u64,
    /// Number of jobs; 1 where commits share no log sync.
    pub jobs: u32,
    /// Beginnings of its statements, lower case.
    pub statements: &'static [&'static str],
    /// Statements of the client drive that a tally stands for.
    pub of_tally: fn(&Tally) -> u64,
    /// The change whose transactions are looked for in the log; none of workloads that only read.
    pub change: Option<Change>,
    /// The rows that the server goes through for a tally, of a table with so many rows; absent
    /// where the table is gone after the test, or rows are read and changed.
    pub rows_read: Option<fn(&Tally, u64) -> u64>,
    /// The table that lasts, whose rows are counted.
    pub table: &'static str,
}

/// Change of a table by a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// One row or more, as many as the tally has.
    Update,
    /// One row of each transaction; the tally also counts the rows read.
    UpdateOne,
    Insert,
}

pub const CASES: [Case; 9] = [
    Case {
        id: "SRV-QUERY1",
        ops: 10_000,
        jobs: 2,
        statements: &["select * from dbdyno.small"],
        of_tally: ops,
        change: None,
        rows_read: Some(|tally, _| tally.rows),
        table: "small",
    },
    Case {
        id: "SRV-QUERY25",
        ops: 3_000,
        jobs: 2,
        statements: &["select * from dbdyno.small"],
        of_tally: ops,
        change: None,
        rows_read: Some(|tally, _| tally.rows),
        table: "small",
    },
    Case {
        id: "SRV-SCAN",
        ops: 60,
        jobs: 2,
        statements: &["select * from dbdyno.small"],
        of_tally: ops,
        change: None,
        rows_read: Some(|tally, table_rows| tally.ops * table_rows),
        table: "small",
    },
    Case {
        id: "LGWR-LAT",
        ops: 1_000,
        jobs: 1,
        statements: &["update dbdyno.lgwr_lat"],
        of_tally: ops,
        change: Some(Change::Update),
        rows_read: None,
        table: "small",
    },
    Case {
        id: "LGWR-THR",
        ops: 200,
        jobs: 1,
        statements: &["update dbdyno.lgwr_thr"],
        of_tally: ops,
        change: Some(Change::Update),
        rows_read: None,
        table: "small",
    },
    Case {
        id: "TP-LIGHT:update_pct=20",
        ops: 3_000,
        jobs: 1,
        statements: &["select * from dbdyno.big", "update dbdyno.big"],
        // An op that changes its row locks it before.
        of_tally: |tally| tally.ops + tally.commits,
        change: Some(Change::UpdateOne),
        rows_read: None,
        table: "big",
    },
    Case {
        id: "STO-RANDOM:write_pct=20",
        ops: 3_000,
        jobs: 1,
        statements: &["select * from dbdyno.big", "update dbdyno.big"],
        of_tally: ops,
        change: Some(Change::UpdateOne),
        rows_read: None,
        table: "big",
    },
    Case {
        id: "DL-BUFFER:rpt=5",
        ops: 300,
        jobs: 1,
        statements: &["insert into dbdyno.dl_buffer"],
        of_tally: |tally| tally.rows,
        change: Some(Change::Insert),
        rows_read: None,
        table: "small",
    },
    Case {
        id: "DL-DIRECT:batch=10000",
        ops: 5,
        jobs: 1,
        statements: &["copy dbdyno.dl_direct"],
        of_tally: ops,
        change: Some(Change::Insert),
        rows_read: None,
        table: "small",
    },
];

fn ops(tally: &Tally) -> u64 {
    tally.ops
}

impl Case {
    /// The statement is one of the workload's; whatever its layout and the case of its words.
    pub fn is_own(&self, statement: &str) -> bool {
        let words: Vec<String> = statement.split_whitespace().map(str::to_lowercase).collect();
        let statement = words.join(" ");
        self.statements.iter().any(|begin| statement.starts_with(begin))
    }
}
