use std::fs;

use super::*;
use crate::model::{Commit, End, JobCode, Placeholder, Ramp, Window};

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
const SERVER: &str = "-- name: T-READ.body\nperform 1 from {{small}};\n-- name: T-WRITE.declare\nv \
                      int;\n-- name: T-WRITE.body\nupdate {{big}} set status = 2;\ncommit;\n-- \
                      name: make\ncreate table {{prefix}}own (jobs int default {{jobs}});\n-- \
                      name: T-OWN.body\nnull;\n-- name: relax-1\nset relaxed = on;\n-- name: \
                      relax-0\n-- nothing: it is the default\n-- name: own-heap\ncreate table \
                      {{prefix}}own () using heap;\n";
const HARNESS: &str = "-- name: function\ncreate function {{routine}}() as $$\ndeclare\n  \
                       {{declare}}\nbegin\n  {{body}}\nend $$;\n-- name: procedure\ncreate \
                       procedure {{routine}}() as $$ declare {{declare}} begin {{body}} end \
                       $$;\n-- name: call\nselect * from {{routine}}(:job, :seed);\n-- name: \
                       drop-function\ndrop function {{routine}};\n-- name: drop-procedure\ndrop \
                       procedure {{routine}};\n";
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

fn fixture() -> Catalog {
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
fn fixture_with(own: &std::path::Path) -> Catalog {
    let mut catalog = fixture();
    catalog.lay_over(own).unwrap_or_else(|error| panic!("{error}"));
    catalog
}

fn server() -> Request {
    let capabilities = Capabilities {
        placeholder: Placeholder::Dollar,
        orgs: &["heap"],
        unsupported_orgs: &[("iot", "there are no clustered tables")],
        ..Capabilities::SERVER
    };
    Request { size_gb: Some(1.0), ..Request::new("server", capabilities, 4) }
}

fn lite() -> Request {
    let unsupported_orgs = server().capabilities.unsupported_orgs;
    let capabilities = Capabilities { orgs: &["rowid"], unsupported_orgs, ..Capabilities::LEAST };
    Request { engine: "lite".into(), capabilities, ..server() }
}

fn asking(text: &str, request: Request) -> Request {
    Request { workloads: vec![text.into()], ..request }
}

fn planned(text: &str, request: Request) -> Plan {
    build(&fixture(), &asking(text, request)).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, request: Request) -> String {
    build(&fixture(), &asking(text, request)).unwrap_err().to_string()
}

#[test]
fn a_routine_is_the_harness_with_the_body_in_it() {
    let plan = planned("t-read", server());
    let JobCode::Routine(routine) = &plan.selections[0].parts[0].code else {
        panic!("database drive first")
    };
    assert!(routine.name.starts_with("dbdyno.w_t_read_"), "{}", routine.name);
    assert_eq!(routine.name.len(), "dbdyno.w_t_read_".len() + 8);
    let expected = format!(
        "create function {}() as $$\ndeclare\n  \nbegin\n  perform 1 from dbdyno.small;\nend $$",
        routine.name
    );
    assert_eq!(routine.create, [expected]);
    assert_eq!(routine.call.sql, format!("select * from {}($1, $2)", routine.name));
    assert_eq!(routine.call.binds, ["job", "seed"]);
    assert_eq!(routine.drop, [format!("drop function {}", routine.name)]);
    assert_eq!(plan.tables, [TableRef::new("small")]);
}

#[test]
fn committing_routines_are_procedures_and_jobs_stay_open_in_setup() {
    let plan = planned("T-WRITE", server());
    let part = &plan.selections[0].parts[0];
    let JobCode::Routine(routine) = &part.code else { panic!("database drive first") };
    assert!(
        routine.create[0]
            .contains("declare v int; begin update dbdyno.big set status = 2;\ncommit; end")
    );
    assert_eq!(part.setup, ["create table dbdyno.own (jobs int default {{jobs}})"]);
    assert_eq!(
        crate::sql::bind_late(&part.setup[0], 8),
        "create table dbdyno.own (jobs int default 8)"
    );
}

#[test]
fn client_branches_cumulate_their_chances() {
    let plan = planned("T-WRITE:update_pct=30", lite());
    let part = &plan.selections[0].parts[0];
    let JobCode::Client { branches, shared_read, .. } = &part.code else {
        panic!("lite has the client drive only")
    };
    let shape: Vec<_> =
        branches.iter().map(|branch| (branch.upto, branch.commit, branch.times)).collect();
    assert_eq!(shape, [(30.0, Commit::Block, 2), (100.0, Commit::None, 1)]);
    assert_eq!(branches[0].statements[0].sql, "update big set status = 1 where id = ?1");
    assert_eq!(branches[1].statements[0].sql, "select ?1::int");
    assert!(!shared_read);
    assert!(part.setup.is_empty(), "only the server has the block 'make'");
    assert_eq!(part.facts.get("update_pct"), Some(&30.0));
}

#[test]
fn parameters_come_from_alias_engine_and_default() {
    let selection = planned("r1", lite()).selections.remove(0);
    assert_eq!(selection.asked_as.as_deref(), Some("R1"));
    assert_eq!(selection.params["rows"], "25");
    assert_eq!(selection.params["read_tx"], "slice");
    let JobCode::Client { branches, shared_read, .. } = &selection.parts[0].code else { panic!() };
    assert!(shared_read);
    assert_eq!(branches[0].statements[0].sql, "select * from small where key25 = ?1 limit 25");
    assert_eq!(planned("T-READ", server()).selections[0].params["read_tx"], "op");
}

#[test]
fn a_number_has_one_spelling_in_sql_parameters_and_hash() {
    let hash = |text: &str| planned(text, lite()).selections.remove(0).hash;
    for spelling in ["+5", "05", "-0", "+0005"] {
        let selection =
            planned(&format!("T-WRITE:update_pct={spelling}"), lite()).selections.remove(0);
        let plain = if spelling == "-0" { "0" } else { "5" };
        assert_eq!(
            (selection.params["update_pct"].as_str(), selection.chosen["update_pct"].as_str()),
            (plain, plain)
        );
        assert_eq!(
            hash(&format!("T-WRITE:update_pct={spelling}")),
            hash(&format!("T-WRITE:update_pct={plain}"))
        );
    }
    assert!(
        planned("T-WRITE:update_pct=+20", lite()).selections[0].chosen.is_empty(),
        "it is the default"
    );
    assert!(
        refused("T-READ:rows=+1", lite()).contains("allowed: 1, 25"),
        "words of a list are taken as they are"
    );
}

#[test]
fn bad_requests_are_one_line_and_say_what_is_allowed() {
    let line = refused("T-READ:rows=7", server());
    assert_eq!(line, "--workload T-READ:rows=7: rows=7 is not allowed; allowed: 1, 25");
    let line = refused("T-WRITE:update_pct=101", server());
    assert!(
        line.ends_with("update_pct=101 is not allowed; allowed: whole numbers from 0 to 100"),
        "{line}"
    );
    assert!(
        refused("T-READ:row=1", server()).ends_with(
            "T-READ has no parameter 'row'; did you mean rows? it has: rows, org, read_tx"
        )
    );
    assert!(refused("R1:rows=1", server()).contains("R1 means rows=25"));
    assert!(refused("T-REED", server()).contains("unknown workload 'T-REED'; did you mean T-READ"));
    assert!(refused("T-LOCAL", lite()).contains("T-LOCAL cannot run on lite: it lacks this"));
    assert!(refused("T-READ:org=iot", server()).ends_with(
        "cannot run on server: org=iot is not \
                                                           available: there are no clustered \
                                                           tables; see 'dbdyno show workload \
                                                           T-READ'"
    ));
    let database = Request { drive: Some(Drive::Database), ..lite() };
    assert!(refused("T-READ", database).contains("lite has no database drive"));
    let backwards = Request { jobs: Some("8..cores".parse().unwrap()), ..lite() };
    assert!(refused("T-READ", backwards).starts_with("--jobs 8..cores: 8..4 runs backwards"));
    assert!(
        build(&fixture(), &server()).unwrap_err().to_string().contains("no workload is selected")
    );
}

#[test]
fn another_drive_is_taken_where_the_first_cannot() {
    assert_eq!(planned("T-LOCAL", server()).selections[0].drive, Drive::Client);
    let asked = Request { drive: Some(Drive::Database), ..server() };
    assert!(refused("T-LOCAL", asked).contains("database drive: it needs a client"));
}

#[test]
fn a_suite_gives_size_jobs_and_window_and_leaves_out_with_reason() {
    let request = |base: Request| Request { suites: vec!["both".into()], size_gb: None, ..base };
    let plan = build(&fixture(), &request(server())).unwrap();
    assert_eq!((plan.suite.as_str(), plan.size_gb), ("both", 1.0));
    assert_eq!(plan.selections[0].ramp, Ramp::Fixed(vec![1, 4]));
    assert_eq!(plan.selections[0].window.duration_s(), Some(3.0));
    assert_eq!(
        (plan.selections[1].ramp.clone(), plan.selections[1].window.duration_s()),
        (Ramp::Fixed(vec![2]), Some(1.5))
    );
    let plan = build(&fixture(), &request(lite())).unwrap();
    assert_eq!(plan.left_out, [LeftOut::new("T-LOCAL", "it lacks this")]);
    let fixed =
        Request { ops_per_job: Some(10), jobs: Some("1".parse().unwrap()), ..request(server()) };
    let plan = build(&fixture(), &fixed).unwrap();
    assert_eq!(
        (plan.selections[1].window.warmup_s, plan.selections[1].window.ops_per_job()),
        (0.0, Some(10))
    );
}

const PUBLISHED: &str = r#"
id = "published"
title = "published"
published_gb = 512
duration_s = 120
warmup_s = 4
[[entry]]
code = "P1"
workload = "T-WRITE"
params = { update_pct = "30" }
jobs = "1,1,2"
work = { amount = 125000, unit = "rows", per_op = 2, grows_with = "small" }
[[entry]]
code = "P2"
workload = "T-READ"
each = { rows = ["*"] }
work = { amount = 65536, unit = "selects" }
[[entry]]
code = "P3"
workload = "T-READ:org=iot"
[[entry]]
code = "P4"
workload = "R1"
[[entry]]
code = "P5"
title = "secret"
none = "not published"
[[entry]]
code = "P6"
workload = "R2"
work = { amount = 1, unit = "calls" }
least_time_scale = 1
"#;

fn published(request: Request) -> Plan {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("suites")).unwrap();
    fs::write(dir.path().join("suites/published.toml"), PUBLISHED).unwrap();
    build(&fixture_with(dir.path()), &Request { suites: vec!["published".into()], ..request })
        .unwrap()
}

fn fixed_work(plan: &Plan) -> Vec<(String, Option<u64>)> {
    let of = |selection: &Selection| {
        (selection.asked_as.clone().unwrap(), selection.window.ops_per_job())
    };
    plan.selections.iter().map(of).collect()
}

#[test]
fn a_published_suite_runs_under_its_codes_with_its_fixed_work() {
    let plan = published(Request { size_gb: Some(512.0), ..server() });
    let expected = [
        ("P1", Some(62_500)),
        ("P2", Some(65_536)),
        ("P2", Some(65_536)),
        ("P4", None),
        ("P6", Some(1)),
    ];
    assert_eq!(fixed_work(&plan), expected.map(|(code, ops)| (code.to_string(), ops)));
    assert_eq!(plan.selections[0].ramp, Ramp::Fixed(vec![1, 1, 2]));
    assert_eq!(plan.selections[0].params["update_pct"], "30");
    assert_eq!(
        (plan.selections[1].params["rows"].as_str(), plan.selections[2].params["rows"].as_str()),
        ("1", "25")
    );
    assert_eq!(
        (plan.selections[3].window.warmup_s, plan.selections[3].window.duration_s()),
        (4.0, Some(120.0))
    );
    let left_out: Vec<_> = plan.left_out.iter().map(|left_out| left_out.label.as_str()).collect();
    assert_eq!(left_out, ["P3", "P5"]);
    assert_eq!(plan.left_out[1].reason, "not published");
}

#[test]
fn the_engines_own_organisation_is_not_measured_twice() {
    let suite =
        "id = \"all\"\ntitle = \"all\"\n[[entry]]\nworkload = \"R2\"\neach = { org = [\"*\"] }\n";
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("suites")).unwrap();
    fs::write(dir.path().join("suites/all.toml"), suite).unwrap();
    let request = Request { suites: vec!["all".into()], ..server() };
    let plan = build(&fixture_with(dir.path()), &request).unwrap();
    let orgs: Vec<_> =
        plan.selections.iter().map(|selection| selection.params["org"].as_str()).collect();
    assert_eq!(orgs, ["default"]);
    let reasons: Vec<_> = plan.left_out.iter().map(|left_out| left_out.reason.as_str()).collect();
    assert!(
        reasons[0].contains("org=heap is this engine's default") && reasons[1].contains("iot"),
        "{reasons:?}"
    );
}

#[test]
fn fixed_work_grows_with_its_table_and_both_rules_with_the_time_scale() {
    let small = published(Request { size_gb: Some(1.0), ..server() });
    assert_eq!(fixed_work(&small)[0].1, Some(125), "125,000 / 2 x 32,000 / 16,000,000");
    assert_eq!(fixed_work(&small)[1].1, Some(65_536));
    let short = published(Request { size_gb: Some(1.0), time_scale: 0.1, ..server() });
    assert_eq!((fixed_work(&short)[0].1, fixed_work(&short)[1].1), (Some(13), Some(6554)));
    assert_eq!(
        (short.selections[3].window.warmup_s, short.selections[3].window.duration_s()),
        (0.4, Some(12.0))
    );
    assert!(
        short
            .left_out
            .iter()
            .any(|test| test.label == "P6" && test.reason.contains("--time-scale 0.1"))
    );
    let tiny = published(Request { time_scale: 1e-9, ..server() });
    assert_eq!(
        (fixed_work(&tiny)[0].1, tiny.selections[3].window.duration_s()),
        (Some(1), Some(0.1))
    );
    let own = published(Request { duration_s: Some(2.0), time_scale: 0.1, ..server() });
    assert!(own.selections.iter().all(|selection| selection.window.duration_s() == Some(2.0)));
    assert!(
        fixed_work(&own).iter().all(|(_, ops)| ops.is_none()),
        "a duration of the user's is fixed time"
    );
    assert_eq!(own.selections.len(), 5);
}

#[test]
fn a_precision_stands_instead_of_a_time_and_of_work() {
    let precision = "2%".parse().ok();
    let end = |most_s| End::Known { precision: precision.unwrap(), most_s };
    let asked = published(Request { precision, time_scale: 0.5, ..server() });
    assert_eq!(asked.selections.len(), 5);
    let windows =
        |plan: &Plan| plan.selections.iter().map(|selection| selection.window).collect::<Vec<_>>();
    assert!(
        windows(&asked).iter().all(|window| *window == Window { warmup_s: 1.0, end: end(30.0) })
    );
    let own = published(Request {
        precision,
        max_duration_s: Some(7.0),
        warmup_s: Some(3.0),
        ..server()
    });
    assert_eq!(windows(&own)[0], Window { warmup_s: 3.0, end: end(7.0) });
}

#[test]
fn a_suites_precision_gives_way_to_what_a_test_or_the_user_says() {
    let head = "id = \"all\"\ntitle = \"all\"\nprecision = \"2%\"\nmax_duration_s = \
                9\n[[entry]]\nworkload = \"R2\"\n";
    let suite = format!("{head}[[entry]]\nworkload = \"R2\"\nduration_s = 3\n");
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("suites")).unwrap();
    fs::write(dir.path().join("suites/all.toml"), suite).unwrap();
    let plan = |request: Request| {
        build(&fixture_with(dir.path()), &Request { suites: vec!["all".into()], ..request })
    };
    let ends = |request| {
        plan(request).unwrap().selections.into_iter().map(|one| one.window.end).collect::<Vec<_>>()
    };
    let known = End::Known { precision: "2%".parse().unwrap(), most_s: 9.0 };
    assert_eq!(ends(server()), [known, End::Time(3.0)]);
    assert_eq!(ends(Request { ops_per_job: Some(5), ..server() }), [End::Ops(5); 2]);
    assert_eq!(ends(Request { duration_s: Some(4.0), ..server() }), [End::Time(4.0); 2]);
}

#[test]
fn mixed_workloads_have_a_part_each_and_jobs_in_multiples() {
    let plan = planned("T-MIXED", Request { jobs: Some("1,2,3".parse().unwrap()), ..server() });
    let selection = &plan.selections[0];
    let parts: Vec<_> = selection.parts.iter().map(|part| part.workload.as_str()).collect();
    assert_eq!(parts, ["T-READ", "T-WRITE"]);
    assert_eq!(selection.parts[0].params["rows"], "25", "that is what the alias R1 means");
    assert_eq!(selection.parts[1].params["update_pct"], "40");
    assert_eq!(selection.ramp, Ramp::Fixed(vec![2, 4]));
    assert_eq!(
        jobs_note(selection).unwrap(),
        "jobs are multiples of 2, an equal number for each part"
    );
    assert_eq!(plan.tables, [TableRef::new("small"), TableRef::new("big")]);
}

#[test]
fn a_bulk_load_has_a_table_of_its_own() {
    let plan = planned("T-BULK:batch=100", server());
    let expected = JobCode::Bulk { table: "dbdyno.t_bulk".into(), batch: 100 };
    assert_eq!(
        (plan.selections[0].drive, &plan.selections[0].parts[0].code),
        (Drive::Client, &expected)
    );
}

#[test]
fn parameters_choose_blocks_and_a_session_has_settings_of_its_own() {
    let own = |text: &str, request| {
        let part = planned(text, request).selections.remove(0).parts.remove(0);
        (part.setup.concat(), part.session.concat())
    };
    let heap = "create table dbdyno.own () using heap".to_string();
    let included =
        "create table own (\n  org text default 'default',\n  jobs int default {{jobs}})";
    assert_eq!(own("T-OWN", server()), (heap.clone(), "set relaxed = on".into()));
    assert_eq!(own("T-OWN:relaxed=0,org=heap", server()), (heap, String::new()));
    assert_eq!(own("T-OWN", lite()), (included.into(), String::new()));
    let line = refused("T-OWN:relaxed=1", lite());
    assert!(
        line.contains("T-OWN cannot run on lite: relaxed=1 is not available: it always waits"),
        "{line}"
    );
    let line = refused("T-OWN:relaxed=1,org=rowid", server());
    assert!(line.contains("relaxed=1 with org=rowid is not available: row numbers wait"), "{line}");
    let captions: Vec<_> =
        show(&planned("T-OWN", server()).selections[0]).into_iter().map(|p| p.caption).collect();
    assert_eq!(captions[..2], ["before the jobs start", "each job's session, once"]);
}

#[test]
fn the_hash_changes_with_parameters_and_sql_only() {
    let hash = |text: &str, request: Request| planned(text, request).selections.remove(0).hash;
    let base = hash("T-WRITE", server());
    assert!(base.len() == 16 && base.chars().all(|c| c.is_ascii_hexdigit()));
    assert_eq!(base, hash("t-write", Request { jobs: Some("9".parse().unwrap()), ..server() }));
    assert_ne!(base, hash("T-WRITE:update_pct=21", server()));
    assert_ne!(base, hash("T-WRITE", Request { drive: Some(Drive::Client), ..server() }));
    assert_ne!(hash("R2", server()), hash("R1", server()));
    assert_ne!(hash("T-OWN", server()), hash("T-OWN:relaxed=0", server()));
}

#[test]
fn shows_the_sql_in_the_order_in_which_it_runs() {
    let pieces = |request| show(&planned("T-WRITE", request).selections[0]);
    let captions =
        |request| pieces(request).into_iter().map(|piece| piece.caption).collect::<Vec<_>>();
    assert_eq!(
        captions(server()),
        [
            "before the jobs start",
            "create the routine",
            "each slice of each job, prepared; here with job = 1, seed = 42",
            "drop the routine"
        ]
    );
    assert_eq!(
        captions(lite()),
        [
            "20 % of the ops, 2 times, begin before and commit after, prepared; here with id = 7",
            "80 % of the ops, prepared; here with id = 7"
        ]
    );
    assert!(
        pieces(lite()).iter().all(|piece| !piece.sql.contains('?')),
        "what is shown can be run as it is"
    );
}

#[test]
fn marks_of_every_style_are_shown_with_their_values() {
    let styles = [
        Placeholder::Dollar,
        Placeholder::QuestionNumber,
        Placeholder::Question,
        Placeholder::Braces,
    ];
    for placeholder in styles {
        let engine = lite();
        let request =
            Request { capabilities: Capabilities { placeholder, ..engine.capabilities }, ..engine };
        let pieces = show(&planned("T-TWICE", request).selections[0]);
        let sql = "select 1 where 7 between 7 - 1 and 7 and 1 = 1";
        assert_eq!(pieces[0].sql.trim_end_matches(';'), sql, "{placeholder:?}");
        assert_eq!(
            pieces[0].caption, "each op, prepared; here with id = 7, job = 1",
            "{placeholder:?}"
        );
    }
}
