//! Results in a database that a team shares: the same as in a file, for several users at once, and
//! nothing else is touched.

use std::collections::BTreeSet;
use std::path::Path;

use dbdyno::model::{RunKind, RunRecord, RunStatus, Test};
use dbdyno::store::{SCHEMA_VERSION, Store};

use crate::fixture;
use crate::servers::{Lease, Server};
use crate::support::{Desk, TINY, column, session};

const OTHERS: &str = "select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on \
                      n.oid = c.relnamespace where n.nspname not in ('dbdyno_results', 'pg_toast') \
                      order by 1";

/// Two runs with fixed identities.
fn fill(store: &mut Store) {
    let runs: Vec<(String, RunRecord, Vec<Test>)> = (1..=2)
        .map(|at| {
            let run = RunRecord { name: Some(format!("r{at}")), ..fixture::run() };
            (format!("{at:032x}"), run, fixture::as_tests(fixture::tests()))
        })
        .collect();
    store
        .add_runs("test", runs.iter().map(|(uid, run, tests)| (uid.as_str(), run, tests)))
        .unwrap();
}

fn open(url: &str) -> Store {
    Store::open(Path::new(url)).unwrap()
}

fn change(url: &str, sql: &str) {
    session(url).execute(sql).unwrap();
}

fn refusal(opened: dbdyno::error::Result<Store>) -> String {
    let line = opened.unwrap_err().to_string();
    assert!(
        line.starts_with("postgres://dbdyno@/lease") && line.contains("; ") && !line.contains('\n'),
        "{line}"
    );
    line
}

#[test]
fn a_database_gives_what_a_file_gives_and_nothing_else_in_it_is_touched() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let mut admin = session(&lease.url);
    let others = column(admin.as_mut(), OTHERS);
    desk.run(&format!("results list --results {}", lease.url)).fails(2, &["holds no results yet"]);
    let (mut file, mut shared) = (Store::open(&desk.path("results.db")).unwrap(), open(&lease.url));
    [&mut file, &mut shared].into_iter().for_each(fill);
    assert_eq!(shared.tests(1).unwrap(), file.tests(1).unwrap());
    assert_eq!(shared.figures(2).unwrap(), file.figures(2).unwrap());
    assert_eq!(
        (shared.listing().unwrap(), shared.measured(9).unwrap()),
        (file.listing().unwrap(), file.measured(9).unwrap())
    );
    assert_eq!(shared.measured_with("host", "lab-1").unwrap(), [1, 2]);
    assert_eq!(
        shared.tests_beside("SRV-QUERY1", 2, 9).unwrap(),
        file.tests_beside("SRV-QUERY1", 2, 9).unwrap()
    );
    let explained = fixture::tests().into_iter().find_map(|test| test.explained);
    if let Some(explained) = explained {
        [&mut file, &mut shared]
            .into_iter()
            .for_each(|store| store.explain_test(1, 1, &explained).unwrap());
    }
    let exported = |store: &Store| {
        let mut out = Vec::new();
        store.export(&[1, 2], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(exported(&shared), exported(&file));
    let again = shared.import("export", &mut exported(&file).as_bytes()).unwrap_err().to_string();
    assert!(again.contains("is here already as run 1"), "{again}");
    for line in [
        "results list --format json",
        "report kpm last --format json",
        "compare r1 r2 --format json",
        "results show r2",
    ] {
        let same = desk.run(&format!("{line} --results {}", lease.url)).ok().stdout;
        assert_eq!(same, desk.run(line).ok().stdout, "{line}");
    }
    shared.delete(1).unwrap();
    assert_eq!(shared.runs().unwrap().len(), 1);
    shared.delete(2).unwrap();
    for table in ["load", "test", "series", "snapshot"] {
        assert_eq!(
            column(admin.as_mut(), &format!("select count(*) from dbdyno_results.{table}")),
            ["0"],
            "{table}"
        );
    }
    assert_eq!(column(admin.as_mut(), OTHERS), others);
}

#[test]
fn users_at_once_have_runs_of_their_own_and_a_writer_that_is_gone_is_seen() {
    let lease = Lease::new("postgres", None, &[]);
    let users: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let user = || {
            let mut store = open(&lease.url);
            let id = store.begin_run(&fixture::run()).unwrap();
            fixture::tests().iter().for_each(|test| store.save_test(id, test).unwrap());
            store.finish_run(id, RunStatus::Finished).unwrap();
            let left = store
                .begin_run(&RunRecord { status: RunStatus::Running, ..fixture::run() })
                .unwrap();
            // Seen by somebody else as long as the writer lives.
            assert_eq!(open(&lease.url).run(&left.to_string()).unwrap().status, RunStatus::Running);
            vec![id, left]
        };
        let users: Vec<_> = (0..4).map(|_| scope.spawn(user)).collect();
        users.into_iter().map(|user| user.join().unwrap()).collect()
    });
    let all: BTreeSet<i64> = users.iter().flatten().copied().collect();
    assert_eq!(all.len(), 8);
    let store = open(&lease.url);
    for user in users {
        assert_eq!(store.tests(user[0]).unwrap(), fixture::as_tests(fixture::tests()));
        assert_eq!(store.run(&user[1].to_string()).unwrap().status, RunStatus::Failed);
    }
    // A session that the server ended is made anew, and goes on holding what it writes.
    let mut writer = open(&lease.url);
    let id = writer.begin_run(&RunRecord { status: RunStatus::Running, ..fixture::run() }).unwrap();
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> \
               pg_backend_pid() and datname = current_database()";
    change(&lease.url, end);
    writer.save_test(id, &fixture::tests()[0]).unwrap();
    assert_eq!(open(&lease.url).run(&id.to_string()).unwrap().status, RunStatus::Running);
}

/// Whoever is first makes the schema; who comes while it is made finds it whole, and his names
/// lead into it.
#[test]
fn users_who_are_all_the_first_have_one_schema() {
    const USERS: usize = 8;
    for _ in 0..6 {
        let lease = Lease::new("postgres", None, &[]);
        let barrier = std::sync::Barrier::new(USERS);
        std::thread::scope(|scope| {
            for _ in 0..USERS {
                scope.spawn(|| {
                    barrier.wait();
                    open(&lease.url).begin_run(&fixture::run()).unwrap();
                });
            }
        });
        assert_eq!(open(&lease.url).listing().unwrap().len(), USERS);
    }
}

#[test]
fn an_older_database_is_brought_up_to_date_and_others_are_refused_in_one_line() {
    let lease = Lease::new("postgres", None, &[]);
    fill(&mut open(&lease.url));
    let second = "set search_path = dbdyno_results; alter table run drop column kind; alter table \
                  run add column kind text not null default 'measured' check (kind in ('measured', \
                  'published')); update run set kind = 'published'; update about set version = 2";
    change(&lease.url, second);
    let place = Path::new(&lease.url);
    assert!(refusal(Store::open_read_only(place)).contains("older dbdyno (schema 2"));
    assert_eq!(open(&lease.url).run("last").unwrap().kind, RunKind::Published);
    assert_eq!(
        column(session(&lease.url).as_mut(), "select version from dbdyno_results.about"),
        [SCHEMA_VERSION.to_string()]
    );
    change(
        &lease.url,
        "update dbdyno_results.run set kind = 'scripts'; update dbdyno_results.about set version = \
         99",
    );
    assert!(refusal(Store::open(place)).contains("newer dbdyno (schema 99"));
    change(&lease.url, "update dbdyno_results.about set application = 1");
    assert!(refusal(Store::open(place)).contains("is not one of dbdyno"));
    change(&lease.url, "drop table dbdyno_results.about");
    assert!(refusal(Store::open(place)).contains("holds something else"));
}

#[test]
fn passwords_come_from_where_those_of_targets_come_from_and_are_shown_nowhere() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("team", "Hidden-7", true);
    let url = server.url("team");
    let run = |line: &str, password: Option<&str>| {
        let mut command = desk.command(&format!("{line} --results {url}"));
        command.envs(password.map(|password| ("PGPASSWORD", password)));
        let done = crate::support::finished(command, line);
        assert!(!format!("{}{}", done.stdout, done.stderr).contains("Hidden-7"), "{done:?}");
        done
    };
    let none = run("results list", None);
    assert!(none.code != Some(0) && none.stderr.contains("wants a password"), "{none:?}");
    let done = run(&format!("run sqlite {TINY}"), Some("Hidden-7")).ok();
    assert!(done.stderr.contains(&format!("run 1 is stored in {url}")), "{done:?}");
    assert!(run("check sqlite", Some("Hidden-7")).ok().stdout.contains("with 1 run"));
    let refused =
        desk.run(&format!("results list --results {}", url.replace("team@", "team:Hidden-7@")));
    assert!(refused.code == Some(2) && !refused.stderr.contains("Hidden-7"), "{refused:?}");
    let unknown = desk.run("results list --results mysql://u@h/d");
    assert!(unknown.stderr.contains("postgres://user@host/database"), "{unknown:?}");
    assert!(!desk.path("mysql:").exists());
}
