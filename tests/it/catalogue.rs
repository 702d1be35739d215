//! The embedded catalogue loads, and every workload of it plans on every engine that it supports.

use dbdyno::catalog::Catalog;
use dbdyno::engine;
use dbdyno::error::Error;
use dbdyno::fit::cache::{
    CACHED_SHARE, NOT_CACHED_FACTOR, big_bytes, cache_warning, least_gb, most_gb, small_bytes,
};
use dbdyno::model::{
    Capabilities, Claim, Drive, JobCode, Operation, Part, Placeholder, Plan, Workload, params,
};
use dbdyno::plan::{self, Request};

use crate::servers::Server;
use crate::support::{Desk, finished};

fn catalog() -> Catalog {
    crate::support::catalog()
}

/// Engines as the catalogue sees them, whatever features this build has.
fn engines() -> [(&'static str, Capabilities); 3] {
    let sqlite = Capabilities {
        orgs: &["rowid", "iot"],
        unsupported_orgs: &[("heap-list", "there are no partitions")],
        ..Capabilities::LEAST
    };
    let postgres = Capabilities {
        placeholder: Placeholder::Dollar,
        orgs: &["heap", "heap-list", "range-list", "range-hash"],
        unsupported_orgs: &[("iot", "there are only heaps")],
        ..Capabilities::SERVER
    };
    let mariadb = Capabilities {
        commits_in_routine: false,
        placeholder: Placeholder::Question,
        orgs: &["iot", "iot-list", "range-hash", "heap", "heap-list"],
        unsupported_orgs: &[("hash", "there are no hash clusters")],
        ..postgres
    };
    [("postgres", postgres), ("sqlite", sqlite), ("mariadb", mariadb)]
}

fn request(engine: &str, capabilities: Capabilities) -> Request {
    Request { jobs: Some("1,2,cores".parse().unwrap()), ..Request::new(engine, capabilities, 4) }
}

fn plan_one(
    catalog: &Catalog,
    engine: &str,
    of: Capabilities,
    id: &str,
    drive: Drive,
) -> Result<Plan, Error> {
    let drive = Some(drive);
    plan::build(catalog, &Request { workloads: vec![id.into()], drive, ..request(engine, of) })
}

#[test]
fn the_embedded_catalogue_is_sound() {
    let catalog = catalog();
    assert!(catalog.entries().len() >= 5, "few workloads: {}", catalog.entries().len());
}

#[test]
fn every_workload_plans_on_every_engine_or_says_why_not() {
    let catalog = catalog();
    let mut wrong = Vec::new();
    for (engine, capabilities) in engines() {
        for workload in catalog.workloads() {
            let results = capabilities
                .drives
                .iter()
                .map(|drive| plan_one(&catalog, engine, capabilities, &workload.id, *drive));
            let failures: Vec<_> =
                results.filter_map(Result::err).map(|error| error.to_string()).collect();
            let broken = failures.iter().any(|text| !text.contains("cannot run on"));
            let nowhere = failures.len() == capabilities.drives.len()
                && !workload.unsupported.contains_key(engine);
            if broken || (nowhere && workload.parts.is_empty()) {
                wrong.push(format!("{engine} {}: {}", workload.id, failures.join(" / ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements of clients for an engine, each behind the id of its workload.
fn client_statements(engine: &str, of: Capabilities) -> Vec<String> {
    let catalog = catalog();
    let plans = catalog
        .workloads()
        .filter_map(|workload| plan_one(&catalog, engine, of, &workload.id, Drive::Client).ok());
    let selections = plans.flat_map(|plan| plan.selections);
    let parts = selections.flat_map(|selection| selection.parts);
    let branches = parts.flat_map(|part| match part.code {
        JobCode::Client { branches, .. } => branches,
        JobCode::Routine(_) | JobCode::Bulk { .. } => Vec::new(),
    });
    let statements = branches.flat_map(|branch| branch.statements);
    statements.map(|statement| format!("{}: {}", statement.name, statement.sql)).collect()
}

/// DuckDB's "/" makes a fraction of whole numbers. A column that is compared with one is converted
/// row by row, so that no index is used.
#[test]
fn duckdb_looks_keys_up_by_whole_numbers() {
    let of = Capabilities { orgs: &["columns"], ..Capabilities::LEAST };
    let statements = client_statements("duckdb", of);
    let by_key: Vec<&String> = statements.iter().filter(|sql| sql.contains("where id =")).collect();
    assert!(by_key.iter().any(|sql| sql.starts_with("TP-UPDATE32")), "{statements:?}");
    let fractions: Vec<&&String> = by_key.iter().filter(|sql| sql.contains(" / ")).collect();
    assert!(fractions.is_empty(), "{fractions:?}");
}

#[test]
fn every_part_of_a_mix_that_reads_tables_claims_its_rows() {
    let catalog = catalog();
    let mut judged = 0;
    for part in catalog.workloads().flat_map(|workload| &workload.parts) {
        let workload = &catalog.find(&part.workload).unwrap().entry.workload;
        if workload.group != "CPU" {
            assert!(
                workload.contract.iter().any(|claim| claim.what == "rows"),
                "{} claims no rows",
                workload.id
            );
            judged += 1;
        }
    }
    assert!(judged >= 12, "{judged} parts");
}

/// measurement.md: more commits than jobs per log sync means that they were not waited for.
#[test]
fn whatever_commits_claims_that_its_commits_were_waited_for() {
    let catalog = catalog();
    let claims = |workload: &Workload, engine: &str, syncs: &str, max: &str| {
        let of_engine = |claim: &&Claim| claim.engines.iter().any(|named| named == engine);
        workload.contract.iter().filter(of_engine).any(|claim| {
            let quotient = (claim.what.as_str(), claim.per.as_deref()) == ("commits", Some(syncs));
            quotient && claim.max.as_ref().is_some_and(|bound| bound.0 == max)
        })
    };
    let commits = |workload: &Workload| {
        let of_part = |part: &Part| catalog.find(&part.workload).unwrap().entry.workload.commits;
        workload.commits || workload.parts.iter().any(of_part)
    };
    let mut missed = Vec::new();
    for workload in catalog.workloads().filter(|workload| commits(workload)) {
        for (engine, syncs, max) in [
            ("postgres", "wal_syncs", "jobs"),
            ("mariadb", "wal_syncs", "jobs"),
            ("sqlite", "os_disk_flushes", "2 * jobs"),
        ] {
            if !workload.unsupported.contains_key(engine) && !claims(workload, engine, syncs, max) {
                missed.push(format!("{} on {engine}: commits per {syncs}", workload.id));
            }
        }
    }
    assert!(missed.is_empty(), "no claim:\n{}", missed.join("\n"));
}

#[test]
fn the_rows_of_a_nested_loop_join_are_different_ones() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("joiner", "pale-cedar-9", true);
    let mut load = desk.command(&format!(
        "load {} --size 0.1 --workload DA-JOIN-LOOP --quiet",
        server.url("joiner")
    ));
    load.env("PGPASSWORD", "pale-cedar-9");
    finished(load, "load").ok();
    let [(engine, capabilities), ..] = engines();
    let workloads = vec!["DA-JOIN-LOOP".to_string()];
    let request = Request { workloads, size_gb: Some(0.1), ..request(engine, capabilities) };
    let plan = plan::build(&catalog(), &request).unwrap();
    let join = plan.selections[0].parts[0]
        .answer_step
        .as_ref()
        .unwrap()
        .sql
        .replace("count(*)", "count(distinct b.id)");
    let found = server.admin("joiner").query(&join, &[7]).unwrap();
    assert_eq!(found.get(0, "n"), Some("8000"), "{join}");
}

#[test]
fn the_join_buffer_of_mariadb_grows_with_the_small_table() {
    let catalog = catalog();
    let [_, _, (engine, capabilities)] = engines();
    for (size_gb, rows) in [(32.0, "1000000"), (512.0, "16000000")] {
        let workloads = vec!["DA-JOIN-HASH".to_string()];
        let request =
            Request { workloads, size_gb: Some(size_gb), ..request(engine, capabilities) };
        let plan = plan::build(&catalog, &request).unwrap();
        let session = plan.selections[0].parts[0].session.join(";");
        assert!(
            session.contains(&format!("join_buffer_size = least(greatest({rows} * 100,")),
            "{session}"
        );
    }
}

#[test]
fn every_suite_plans_on_every_engine() {
    let catalog = catalog();
    for (engine, capabilities) in engines() {
        for suite in catalog.suites() {
            let request = Request {
                suites: vec![suite.id.clone()],
                jobs: None,
                ..request(engine, capabilities)
            };
            let plan = plan::build(&catalog, &request)
                .unwrap_or_else(|error| panic!("{engine} {}: {error}", suite.id));
            assert!(!plan.selections.is_empty());
            let tests = catalog.suite_tests(suite).unwrap();
            assert_eq!(plan.selections.len() + plan.left_out.len(), tests.len());
        }
    }
}

const MIB: f64 = 1_048_576.0;

#[test]
fn a_profiles_cache_is_that_of_its_engines() {
    for profile in catalog().profiles() {
        let setting = |engine: &str, name: &str, unit: &str| {
            profile.settings[engine][name].trim_end_matches(unit).parse::<f64>().ok()
        };
        assert_eq!(setting("postgres", "shared_buffers", "MB"), profile.cache_mb, "{}", profile.id);
        assert_eq!(
            setting("mariadb", "innodb_buffer_pool_size", "M"),
            profile.cache_mb,
            "{}",
            profile.id
        );
        // The smallest has a quarter, which holds the small table of the suites.
        let share = profile.cache_mb.unwrap() / if profile.id == "XS" { 4.0 } else { 8.0 };
        assert_eq!(profile.cache_bytes("sqlite"), Some(share.floor() * MIB), "{}", profile.id);
    }
}

/// A profile whose own size breaks a rule: the table of sizes or the engine's file says which
/// sizes keep it.
#[test]
fn every_profile_keeps_both_rules_on_every_engine_at_its_size_or_says_at_which() {
    for profile in catalog().profiles() {
        for engine in profile.settings.keys() {
            let of = |name: &str| {
                std::fs::read_to_string(format!("catalog/profiles/{name}.toml")).unwrap()
            };
            let text = of("sizes") + &of(engine);
            let cache = profile.cache_bytes(engine).unwrap();
            let place = format!("{} on {engine}", profile.id);
            if small_bytes(profile.size_gb) > cache * CACHED_SHARE {
                assert!(
                    text.contains(&format!("--size {} or less", most_gb(cache).unwrap())),
                    "{place}"
                );
            }
            if big_bytes(profile.size_gb) < cache * NOT_CACHED_FACTOR {
                let most = profile.settings.keys().filter_map(|engine| profile.cache_bytes(engine));
                let least_gb = least_gb(most.fold(0.0, f64::max));
                assert!(
                    text.contains(&format!("--size {least_gb} or more")),
                    "{place}: {least_gb}"
                );
            }
        }
    }
}

#[test]
fn the_notebooks_small_table_lies_in_the_cache_of_a_server() {
    let catalog = catalog();
    for profile in catalog.profiles() {
        for engine in ["postgres", "mariadb"] {
            let cache = profile.cache_bytes(engine).unwrap();
            assert!(
                small_bytes(profile.size_gb) <= cache * CACHED_SHARE,
                "{} on {engine}",
                profile.id
            );
        }
    }
}

#[test]
fn no_suite_of_ours_makes_its_own_conditions_impossible() {
    let catalog = catalog();
    for suite in catalog.suites() {
        let profile = catalog.profile(suite.profile.as_deref().unwrap_or("XS")).unwrap();
        for engine in engine::ENGINES.iter().filter(|engine| engine.is_target()) {
            let request = Request {
                suites: vec![suite.id.clone()],
                size_gb: suite.size_gb.or(Some(profile.size_gb)),
                ..Request::new(engine.name(), engine.capabilities(), 4)
            };
            // Of what an engine has nothing at all there are no conditions.
            let plan = match plan::build(&catalog, &request) {
                Err(error) if error.what.starts_with("no workload of it can run on") => continue,
                built => built.unwrap(),
            };
            let cache = profile.cache_bytes(engine.name()).unwrap();
            assert_eq!(
                cache_warning(&plan, cache, &profile.id, "another"),
                None,
                "{} on {}",
                suite.id,
                engine.name()
            );
        }
    }
}

#[test]
fn every_workload_has_its_place_in_the_matrix_of_operations_and_resources() {
    let catalog = crate::support::catalog();
    for workload in catalog.workloads() {
        let id = &workload.id;
        assert!(!workload.stresses.is_empty(), "{id}: what does it stress?");
        assert!(!workload.matters_for.is_empty(), "{id}: for whom does it matter?");
        let updates = workload.params.iter().any(|param| param.name == params::UPDATE_PCT);
        assert!(!updates || workload.does.contains(&Operation::Update), "{id} updates");
        for part in &workload.parts {
            let of_part = catalog.workloads().find(|other| other.id == part.workload).unwrap();
            let missing = of_part.does.iter().find(|does| !workload.does.contains(does));
            assert_eq!(missing, None, "{id} does what its parts do");
        }
    }
    let text = Desk::new().run("report catalog").ok().stdout;
    let row =
        text.lines().find(|line| line.starts_with("TP-QUEUE ") && line.contains(" x ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["TP-QUEUE", "x", "x", "locks,", "log", "x"]);
}
