//! Tests of plans: the SQL, the parameters and the hashes of their selections.

use super::test_catalog::{fixture, lite, planned, refused, server};
use super::*;
use crate::model::{Commit, JobCode, Placeholder, Ramp};

#[test]
fn a_routine_is_the_harness_with_the_body_in_it() {
    let plan = planned("t-read", server());
    let JobCode::Routine(routine) = &plan.selections[0].parts[0].code else {
        panic!("database drive first")
    };
    assert!(routine.name.starts_with("dbdyno.w_t_read_"), "{}", routine.name);
    assert_eq!(routine.name.len(), "dbdyno.w_t_read_".len() + 8);
    let expected = format!(
        "create function {}() as $$\ndeclare\n  \nbegin\n  perform 1 from dbdyno.small;\n  rows := \
         v_ops;\nend $$",
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
    assert!(routine.create[0].contains(
        "declare v int; begin update dbdyno.big set status = 2;\ncommit; rows := v_rows; end"
    ));
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
