//! Tests of the suites in plans: their sizes, jobs, windows and fixed work.

use std::fs;

use super::test_catalog::{fixture, fixture_with, lite, server};
use super::*;
use crate::model::{End, Ramp};

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
