//! Schemas and objects of others under our names: they are neither used nor dropped, and who has
//! put something there gets nothing by it.

use std::path::Path;

use dbdyno::store::Store;

use super::search_path::Mallory;
use crate::servers::{Existing, Lease};
use crate::support::{Desk, column, try_session_of};

const TINY: &str = "--size 0.01 --workload SRV-QUERY1";
const SHORT: &str = "--jobs 1 --warmup 0 --ops 50 --quiet";

/// Checks that all commands on the target refuse a schema that they must not use.
fn all_refuse(url: &str, words: &[&str]) {
    let desk = Desk::new();
    desk.run(&format!("run {url} {TINY} {SHORT}")).fails(3, words);
    desk.run(&format!("verify {url} {TINY} --quiet")).fails(3, words);
    desk.run(&format!("clean {url}")).fails(3, words);
    let checked = desk.run(&format!("check {url} {TINY}"));
    assert!(checked.code == Some(1) && words.iter().all(|word| checked.stdout.contains(word)));
}

#[test]
fn a_schema_of_somebody_else_is_not_used() {
    let mallory = Mallory::with("mallory_schema", "grant create on database {database} to {role}");
    mallory.executes(
        "create schema dbdyno; comment on schema dbdyno is 'made by dbdyno'; \
         grant all on schema dbdyno to public",
    );
    mallory.plants_pwn("dbdyno");
    mallory.executes(
        "create view dbdyno.state as select case dbdyno.pwn() when 1 then 'small' end::varchar as \
         table_name, 1::bigint as row_count, 1::bigint as seed, 1 as revision, ''::varchar as \
         data_set_id, ''::varchar as checksum, 1::bigint as table_bytes, 1::bigint as index_bytes, \
         ''::varchar as loaded_at; grant all on dbdyno.state to public",
    );
    let words = ["schema dbdyno belongs to mallory_schema", "with the rights of dbdyno"];
    all_refuse(&mallory.lease.url, &words);
    mallory.has_gained_nothing("run, verify, clean, check");
    // Nor if the victim was made a member of the role, which any user could do before version 15.
    mallory.admin().execute("grant mallory_schema to dbdyno").unwrap();
    all_refuse(&mallory.lease.url, &words);
    mallory.has_gained_nothing("a membership");
}

#[test]
fn a_schema_of_ours_into_which_others_may_put_something_is_not_used() {
    let mallory = Mallory::with("mallory_guest", "select 1");
    let (desk, url) = (Desk::new(), mallory.lease.url.clone());
    desk.run(&format!("run {url} {TINY} {SHORT}")).ok();
    let mut admin = mallory.admin();
    admin.execute("grant usage, create on schema dbdyno to mallory_guest").unwrap();
    let create = "in schema dbdyno, of dbdyno, others may create: mallory_guest";
    all_refuse(&url, &[create, "revoke create on schema dbdyno from mallory_guest"]);
    mallory.plants_pwn("dbdyno");
    admin.execute("revoke create on schema dbdyno from mallory_guest").unwrap();
    desk.run(&format!("verify {url} {TINY} --quiet")).ok();
    for (plant, remove, words) in [
        (
            "grant trigger on dbdyno.small to mallory_guest",
            "revoke all on dbdyno.small from mallory_guest",
            "mallory_guest may create triggers on table dbdyno.small",
        ),
        (
            "create function pg_temp.f() returns trigger language plpgsql as 'begin return new; \
             end'; create trigger t before update on dbdyno.small for each row execute function \
             pg_temp.f()",
            "drop trigger t on dbdyno.small",
            "table dbdyno.small has the trigger t",
        ),
        (
            "create rule r as on update to dbdyno.small do also select dbdyno.pwn()",
            "drop rule r on dbdyno.small",
            "table dbdyno.small has the rule r",
        ),
        (
            "create policy p on dbdyno.small using (dbdyno.pwn() = 1)",
            "drop policy p on dbdyno.small",
            "table dbdyno.small has the policy p",
        ),
    ] {
        admin.execute(plant).unwrap();
        desk.run(&format!("run {url} {TINY} {SHORT}")).fails(3, &[words]);
        admin.execute(remove).unwrap();
    }
    let cleaned = desk.run(&format!("clean {url}")).ok().stdout;
    assert!(cleaned.contains("left alone, not ours: pwn"), "{cleaned}");
    mallory.has_gained_nothing("all of it");
}

#[test]
fn results_of_somebody_else_are_not_used() {
    let mallory = Mallory::with("mallory_results", "grant create on database {database} to {role}");
    let (desk, url) = (Desk::new(), mallory.lease.url.clone());
    mallory.executes("create schema dbdyno_results; grant all on schema dbdyno_results to public");
    mallory.plants_pwn("dbdyno_results");
    mallory.executes(
        "create view dbdyno_results.about as select 1684175993::bigint as application, \
           (3 + dbdyno_results.pwn())::bigint as version; \
         grant all on dbdyno_results.about to public",
    );
    let words = ["schema dbdyno_results belongs to mallory_results"];
    let run = format!("run sqlite {TINY} {SHORT}");
    for line in ["results list", &run] {
        desk.run(&format!("{line} --results {url}")).fails(3, &words);
        mallory.has_gained_nothing(line);
    }
    let mut admin = mallory.admin();
    admin.execute("drop schema dbdyno_results cascade").unwrap();
    // Results of ours, in which a member of the team leaves something for the others.
    Store::open(Path::new(&url)).unwrap();
    for (plant, remove, words) in [
        (
            "grant create on schema dbdyno_results to mallory_results",
            "revoke create on schema dbdyno_results from mallory_results",
            "in schema dbdyno_results, of dbdyno, others may create: mallory_results",
        ),
        (
            "grant usage on schema dbdyno_results to mallory_results; \
             grant all on dbdyno_results.run to mallory_results",
            "revoke trigger on dbdyno_results.run from mallory_results",
            "mallory_results may create triggers on table dbdyno_results.run",
        ),
        (
            "create view dbdyno_results.mine as select 1; \
             alter view dbdyno_results.mine owner to mallory_results",
            "drop view dbdyno_results.mine",
            "dbdyno_results.mine, of mallory_results, is no table",
        ),
        (
            "create function dbdyno_results.lower(text) returns text language sql as 'select \
             1::text'",
            "drop function dbdyno_results.lower(text)",
            "dbdyno_results.lower is a routine",
        ),
    ] {
        admin.execute(plant).unwrap();
        let refused = Store::open(Path::new(&url)).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        admin.execute(remove).unwrap();
        Store::open(Path::new(&url)).unwrap();
    }
    mallory.has_gained_nothing("all of it");
}

/// Tables in a schema of the user's own, and in one of dbdyno.
#[test]
fn tables_that_we_did_not_make_stay() {
    for engine in ["postgres", "mariadb"] {
        let (desk, lease) = (Desk::new(), Lease::new(engine, None, &[]));
        let mut admin = try_session_of(engine, &lease.url).unwrap();
        let mut execute = |sql: &str| admin.execute(sql).unwrap();
        execute("create schema dbdyno");
        let tables = ["tp_customers", "big_orders", "state_of_tax", "small", "state"];
        for table in tables {
            execute(&format!("create table dbdyno.{table} as select 42 as answer"));
        }
        all_refuse(&lease.url, &["was not made by dbdyno"]);
        execute(match engine {
            "postgres" => "comment on schema dbdyno is 'made by dbdyno'",
            _ => "alter database dbdyno comment = 'made by dbdyno'",
        });
        let run = format!("run {} {TINY} {SHORT}", lease.url);
        for table in ["small", "state"] {
            let words = format!("dbdyno.{table} is there, and nothing proves that dbdyno made it");
            desk.run(&run).fails(3, &[&words]);
            let cleaned = desk.run(&format!("clean {}", lease.url)).ok().stdout;
            assert!(cleaned.contains(&format!("left alone, not ours: {table}\n")), "{cleaned}");
            execute(&format!("drop table dbdyno.{table}"));
        }
        let told = desk.run(&run.replace("--quiet", "")).ok().stderr;
        let spared = "left alone, not made by dbdyno: dbdyno.big_orders, dbdyno.state_of_tax, \
                      dbdyno.tp_customers";
        assert!(told.contains(spared), "{engine}: {told}");
        let cleaned = desk.run(&format!("clean {}", lease.url)).ok().stdout;
        assert!(cleaned.contains("dropped dbdyno.small"), "{cleaned}");
        for table in ["tp_customers", "big_orders", "state_of_tax"] {
            let answer = format!("select answer from dbdyno.{table}");
            assert_eq!(column(admin.as_mut(), &answer), ["42"], "{engine}");
        }
    }
}

#[test]
fn a_mariadb_database_that_others_have_prepared_is_not_used() {
    let mut server = Existing::shared();
    server.create_user("mallory", "all");
    // Before there is one, too.
    Desk::new()
        .run(&format!("run {} {TINY} {SHORT}", server.admin_url()))
        .fails(3, &["in database dbdyno others may create: 'mallory'@'127.0.0.1'"]);
    for sql in [
        "create database dbdyno",
        "create database vault",
        "create table vault.opened (at int)",
        "create definer = mallory@'127.0.0.1' function dbdyno.pwn() returns int sql security \
         invoker modifies sql data begin insert into vault.opened values (1); return 1; end",
        "create definer = mallory@'127.0.0.1' sql security invoker view dbdyno.state as select \
         case dbdyno.pwn() when 1 then 'small' end as table_name, 1 as row_count, 1 as seed, 1 as \
         revision, '' as data_set_id, '' as checksum, 1 as table_bytes, 1 as index_bytes, '' as \
         loaded_at",
    ] {
        server.admin.execute(sql).unwrap();
    }
    let url = server.admin_url();
    all_refuse(&url, &["in which 'mallory'@'127.0.0.1' may create,", "was not made by dbdyno"]);
    server.admin.execute("alter database dbdyno comment = 'made by dbdyno'").unwrap();
    all_refuse(&url, &["in database dbdyno others may create: 'mallory'@'127.0.0.1'"]);
    server.admin.execute("revoke all on dbdyno.* from mallory@'127.0.0.1'").unwrap();
    // Rights in every database are rights in this one.
    server
        .admin
        .execute("grant create routine, alter routine on *.* to mallory@'127.0.0.1'")
        .unwrap();
    let everywhere = "create routine, alter routine on *.* from 'mallory'@'127.0.0.1'";
    all_refuse(&url, &["in database dbdyno others may create: 'mallory'@'127.0.0.1'", everywhere]);
    server.admin.execute("revoke all on *.* from mallory@'127.0.0.1'").unwrap();
    Desk::new()
        .run(&format!("run {url} {TINY} {SHORT}"))
        .fails(3, &["dbdyno.state is there, and nothing proves that dbdyno made it"]);
    let opened = column(server.admin.as_mut(), "select count(*) from vault.opened");
    assert_eq!(opened, ["0"], "mallory's function ran with the rights of the administrator");
    let trigger = "create trigger dbdyno.t before update on dbdyno.small for each row set @a = 1";
    for sql in ["drop view dbdyno.state", "create table dbdyno.small (id int)", trigger] {
        server.admin.execute(sql).unwrap();
    }
    let run = format!("run {url} {TINY} {SHORT}");
    Desk::new().run(&run).fails(3, &["table dbdyno.small has the trigger t"]);
}

/// The procedure by which dbdyno finds out whether a server has any, too.
#[test]
fn a_procedure_of_somebody_else_is_neither_replaced_nor_dropped_on_mariadb() {
    let mut server = Existing::shared();
    for sql in [
        "create database dbdyno comment 'made by dbdyno'",
        "create procedure dbdyno.w_try() comment 'of the house' do 7",
    ] {
        server.admin.execute(sql).unwrap();
    }
    Desk::new().run(&format!("run {} {TINY} {SHORT}", server.admin_url())).ok();
    let told = "select concat(routine_definition, ' ', routine_comment) from \
                information_schema.routines where routine_schema = 'dbdyno' and routine_name = \
                'w_try'";
    assert_eq!(column(server.admin.as_mut(), told), ["do 7 of the house"]);
    server.admin.execute("drop database dbdyno").unwrap();
}

/// Every statement that makes a table or a routine on these engines marks it, or `clean` would not
/// know it.
#[test]
fn the_catalog_marks_all_that_it_makes() {
    let makes = |text: &str| {
        let of = |kind: &str| {
            text.contains(&format!("create {kind} "))
                || text.contains(&format!("create or replace {kind} "))
        };
        // Partitions belong to their table.
        let text_without_parts = text.lines().filter(|line| !line.contains(" partition of "));
        let has_table = text_without_parts.clone().any(|line| {
            ["create table ", "create unlogged table ", "create or replace table "]
                .iter()
                .any(|words| line.contains(words))
        });
        has_table || of("function") || of("procedure")
    };
    let mut made = 0;
    for name in ["postgres", "mariadb", "mysql"] {
        let pattern =
            ["catalog/workloads", "catalog/harness", "catalog/datasets/dbdyno", "catalog/failover"];
        for path in pattern.iter().flat_map(|dir| files_of(Path::new(dir), &format!("{name}.sql")))
        {
            let text = std::fs::read_to_string(&path).unwrap();
            for block in dbdyno::sql::parse_blocks(name, &text).unwrap() {
                if makes(&block.text) {
                    made += 1;
                    let mark = block.text.contains("made by dbdyno");
                    assert!(mark, "{}: block {} marks nothing", path.display(), block.name);
                }
            }
        }
    }
    assert!(made > 35, "{made}");
}

/// The files of this name below a directory.
fn files_of(dir: &Path, name: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let found = |path: std::path::PathBuf| match path.is_dir() {
        true => files_of(&path, name),
        false => Some(path).filter(|path| path.ends_with(name)).into_iter().collect(),
    };
    entries.flat_map(found).collect()
}
