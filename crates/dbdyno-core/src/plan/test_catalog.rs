//! Catalog and requests for the tests of planning: of an engine with routines and of one without.

use std::fs;

use super::*;
use crate::model::Placeholder;

const GROUP: &str = r#"
id = "T"
title = "Test"

[[workload]]
id = "T-READ"
title = "read"
revision = 1
aliases = [{ code = "R1", params = { rows = "25" } }, { code = "R2" }]
tables = ["small"]
kpm = { value = "ops", unit = "qps", better = "higher" }
binds = { key = { random = "small_key25" } }
client = [{ steps = ["get"] }]
[[workload.params]]
name = "rows"
default = "1"
values = ["1", "25"]
about = "rows"
[[workload.params]]
name = "org"
default = "default"
values = ["default", "heap", "iot"]
about = "organisation"
[[workload.params]]
name = "read_tx"
default = "op"
engine_default = { lite = "slice" }
values = ["op", "slice"]
about = "transaction"

[[workload]]
id = "T-WRITE"
title = "write"
revision = 1
commits = true
tables = ["big"]
kpm = { value = "ops", unit = "tps", better = "higher" }
binds = { id = "job" }
client = [
  { chance = "update_pct", commit = "block", steps = ["change"], times = 2 },
  { steps = ["look"] },
]
setup = ["make"]
[[workload.params]]
name = "update_pct"
default = "20"
min = 0
max = 100
about = "share"

[[workload]]
id = "T-LOCAL"
title = "client only, not on lite"
revision = 1
kpm = { value = "ops", unit = "qps", better = "higher" }
client = [{ steps = ["one"] }]
[workload.unsupported]
lite = "it lacks this"
[workload.undrivable]
database = "it needs a client"

[[workload]]
id = "T-MIXED"
title = "mixed"
revision = 1
kpm = { value = "ops", unit = "qps", better = "higher" }
parts = [{ workload = "R1" }, { workload = "T-WRITE", params = { update_pct = "40" } }]

[[workload]]
id = "T-OWN"
title = "a table of its own in an organisation, a session of its own"
revision = 1
kpm = { value = "ops", unit = "qps", better = "higher" }
client = [{ steps = ["one"] }]
setup = ["own-{{org}}"]
session = ["relax-{{relaxed}}"]
[[workload.params]]
name = "org"
default = "default"
values = ["default", "heap", "rowid"]
about = "organisation"
[[workload.params]]
name = "relaxed"
default = "1"
values = ["0", "1"]
unavailable = { lite = { 1 = "it always waits" }, server = { "1,org=rowid" = "row numbers wait" } }
engine_default = { lite = "0" }
about = "whether commits wait"

[[workload]]
id = "T-TWICE"
title = "a bind that is used twice"
revision = 1
kpm = { value = "ops", unit = "qps", better = "higher" }
binds = { id = "job", job = "job" }
client = [{ steps = ["twice"] }]
undrivable = { database = "it needs a client" }

[[workload]]
id = "T-BULK"
title = "bulk"
revision = 1
bulk = true
kpm = { value = "rows", unit = "rows/s", better = "higher" }
[[workload.params]]
name = "batch"
default = "500"
min = 1
about = "rows"
"#;

const COMMON: &str = "-- name: T-READ.get\nselect * from {{small}} where key25 = :key limit \
                      {{rows}};\n-- name: change\nupdate {{big}} set status = 1 where id = \
                      :id;\n-- name: look\nselect :id::int\n-- name: one\nselect 1\n-- name: \
                      twice\nselect 1 where :id between :id - 1 and :id and :job = 1;\n-- name: \
                      own-rowid\ncreate table own (\n  {{columns}});\n-- name: columns\norg text \
                      default '{{org}}',\njobs int default {{jobs}}\n";
const SERVER: &str = r"-- name: T-READ.body
perform 1 from {{small}};
-- name: T-READ.rows
v_ops
-- name: T-WRITE.declare
v int;
-- name: T-WRITE.body
update {{big}} set status = 2;
commit;
-- name: make
create table {{prefix}}own (jobs int default {{jobs}});
-- name: T-OWN.body
null;
-- name: relax-1
set relaxed = on;
-- name: relax-0
-- nothing: it is the default
-- name: own-heap
create table {{prefix}}own () using heap;
";
const HARNESS: &str = r"-- name: function
create function {{routine}}() as $$
declare
  {{declare}}
begin
  {{body}}
  rows := {{rows}};
end $$;
-- name: procedure
create procedure {{routine}}() as $$ declare {{declare}} begin {{body}} rows := {{rows}}; end $$;
-- name: call
select * from {{routine}}(:job, :seed);
-- name: drop-function
drop function {{routine}};
-- name: drop-procedure
drop procedure {{routine}};
";
const SUITE: &str = r#"
id = "both"
title = "both"
size_gb = 1
jobs = "1,cores"
duration_s = 3
[[entry]]
workload = "T-READ:rows=25"
[[entry]]
workload = "T-LOCAL"
jobs = "2"
duration_s = 1.5
"#;

pub(super) fn fixture() -> Catalog {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("workloads/t/group.toml", GROUP);
    write("workloads/t/common.sql", COMMON);
    write("workloads/t/server.sql", SERVER);
    write("harness/server.sql", HARNESS);
    write("suites/both.toml", SUITE);
    write("probes/lite.sql", "-- name: version\nselect 1\n");
    Catalog::only_dir(dir.path()).unwrap_or_else(|error| panic!("{error}"))
}

/// The fixture with what stands in `own` beside it.
pub(super) fn fixture_with(own: &std::path::Path) -> Catalog {
    let mut catalog = fixture();
    catalog.lay_over(own).unwrap_or_else(|error| panic!("{error}"));
    catalog
}

pub(super) fn server() -> Request {
    let capabilities = Capabilities {
        placeholder: Placeholder::Dollar,
        orgs: &["heap"],
        unsupported_orgs: &[("iot", "there are no clustered tables")],
        ..Capabilities::SERVER
    };
    Request { size_gb: Some(1.0), ..Request::new("server", capabilities, 4) }
}

pub(super) fn lite() -> Request {
    let unsupported_orgs = server().capabilities.unsupported_orgs;
    let capabilities = Capabilities { orgs: &["rowid"], unsupported_orgs, ..Capabilities::LEAST };
    Request { engine: "lite".into(), capabilities, ..server() }
}

pub(super) fn asking(text: &str, request: Request) -> Request {
    Request { workloads: vec![text.into()], ..request }
}

pub(super) fn planned(text: &str, request: Request) -> Plan {
    build(&fixture(), &asking(text, request)).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn refused(text: &str, request: Request) -> String {
    build(&fixture(), &asking(text, request)).unwrap_err().to_string()
}
