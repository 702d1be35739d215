//! A SQL user of the same PostgreSQL database, who may create in its schema public and plants there
//! what a statement of ours could call by mistake.

use dbdyno::engine::{ConnectTo, Session};

use crate::servers::Lease;
use crate::support::{Desk, column, session, start_options};

/// A user without rights of its own in a database where dbdyno is run by a superuser.
pub struct Mallory {
    role: &'static str,
    pub lease: Lease,
}

impl Mallory {
    /// The user, in a database of its own, with these rights: statements of the superuser, with
    /// `{role}` for the user and `{database}` for the database.
    pub fn with(role: &'static str, rights: &str) -> Mallory {
        let lease = Lease::new("postgres", None, &[]);
        let mut admin = session(&lease.url);
        let database = column(admin.as_mut(), "select current_database()").remove(0);
        admin.execute(&format!("drop role if exists {role}; create role {role} login")).unwrap();
        admin.execute(&rights.replace("{role}", role).replace("{database}", &database)).unwrap();
        Mallory { role, lease }
    }

    pub fn admin(&self) -> Box<dyn Session> {
        session(&self.lease.url)
    }

    /// Runs statements as this user, with `{role}` for its name.
    pub fn executes(&self, sql: &str) {
        let mut session = self.admin();
        session.execute(&format!("set session authorization {}", self.role)).unwrap();
        session.execute(&sql.replace("{role}", self.role)).unwrap();
    }

    /// Plants a function without arguments that makes its owner a superuser if a superuser calls
    /// it.
    pub fn plants_pwn(&self, schema: &str) {
        self.executes(&format!(
            "create function {schema}.pwn() returns int language plpgsql as $$ begin \
               if (select rolsuper from pg_roles where rolname = current_user) then \
                 alter role {{role}} superuser; \
               end if; \
               return 1; end $$"
        ));
    }

    pub fn is_superuser(&self) -> bool {
        let asked = format!("select rolsuper::text from pg_roles where rolname = '{}'", self.role);
        column(self.admin().as_mut(), &asked) == ["true"]
    }

    /// Nothing that dbdyno did has made the user a superuser.
    pub fn has_gained_nothing(&self, after: &str) {
        assert!(!self.is_superuser(), "{} is a superuser after: {after}", self.role);
    }
}

impl Drop for Mallory {
    fn drop(&mut self) {
        if let Ok(mut admin) = std::panic::catch_unwind(|| session(&self.lease.url)) {
            let role = self.role;
            let _ = admin.execute(&format!("drop owned by {role} cascade; drop role {role}"));
        }
    }
}

/// Better matches than what the system has under these names, and what an extension would have.
const PLANTED: &str = "
    create function public.has_database_privilege(name, text) returns boolean language sql
      as 'select public.pwn() = 1';
    create function public.pg_prewarm(oid) returns bigint language sql
      as 'select public.pwn()::bigint';
    create function public.concat_ws(text, text, text, text, text) returns text language sql
      as 'select public.pwn()::text';
    create view public.pg_stat_statements as select public.pwn()::oid as userid,
      (select oid from pg_database where datname = current_database()) as dbid, 'select 1' as query,
      1::bigint as calls, 1.0::float8 as total_exec_time, 1::bigint as rows,
      1::bigint as shared_blks_hit, 1::bigint as shared_blks_read, 1::numeric as wal_bytes";

#[test]
fn what_stands_in_public_is_never_called() {
    let mallory = Mallory::with("mallory_public", "grant create on schema public to {role}");
    mallory.plants_pwn("public");
    mallory.executes(PLANTED);
    let (desk, url) = (Desk::new(), mallory.lease.url.clone());
    let tiny = "--size 0.01 --workload SRV-QUERY1";
    for line in [
        format!("check {url} {tiny}"),
        format!("monitor {url} --once"),
        format!("run {url} {tiny} --jobs 1 --warmup 0 --duration 100ms --quiet"),
        format!("verify {url} {tiny}"),
        format!("clean {url}"),
    ] {
        desk.run(&line).ok();
        mallory.has_gained_nothing(&line);
    }
}

#[test]
fn settings_of_the_database_do_not_lead_astray() {
    let mallory = Mallory::with("mallory_path", "grant create on schema public to {role}");
    mallory.plants_pwn("public");
    // A function that hides one of the system, if its schema comes first.
    mallory.executes(
        "create function public.pg_is_in_recovery() returns boolean language sql \
         as 'select public.pwn() = 0'",
    );
    let mut admin = mallory.admin();
    let database = column(admin.as_mut(), "select current_database()").remove(0);
    admin
        .execute(&format!("alter database {database} set search_path = public, pg_catalog"))
        .unwrap();
    let line = format!("check {} --size 0.01 --workload SRV-QUERY1", mallory.lease.url);
    Desk::new().run(&line).ok();
    mallory.has_gained_nothing(&line);
}

/// Neither the text of a statement of another session nor of one that may hold a secret is kept;
/// the account for TCP that a killed run has left goes.
#[test]
fn what_others_do_is_not_kept_and_what_a_killed_run_left_goes() {
    let (desk, home) = (Desk::new(), crate::support::directory());
    let settings = [("shared_preload_libraries", "pg_stat_statements"), ("fsync", "off")];
    let server = dbdyno::server::start("postgres", &start_options(home.path(), &settings)).unwrap();
    let mut admin = session(&server.url());
    admin
        .execute("create extension pg_stat_statements; create role teller login superuser")
        .unwrap();
    let line = format!(
        "run {} --size 0.01 --workload SRV-QUERY1 --drive client --jobs 1 --warmup 0 \
         --duration 2s --format json --quiet",
        server.url()
    );
    let running = desk.spawn(&line);
    crate::support::until("a job runs", || {
        let busy = "select (coalesce(sum(calls), 0) > 50)::text from pg_stat_statements \
                    where query ~ 'dbdyno\\.small where id'";
        column(admin.as_mut(), busy) == ["true"]
    });
    for secret in [
        "alter role teller password 'hunter2-of-teller'",
        "set session authorization teller",
        "select /* hunter2-of-teller */ count(*) from pg_class",
        "reset session authorization",
        "do $$ begin perform 'hunter2-of-teller', pg_sleep(0.1); end $$",
        "begin; set local application_name = 'hunter2-of-teller'; commit",
    ] {
        admin.execute(secret).unwrap();
    }
    let run = crate::support::ended(running, &line).ok().json();
    let rows = run["tests"][0]["profiles"]["statements"]["rows"].to_string();
    assert!(rows.contains("dbdyno.small") && rows.contains("other statements"), "{rows}");
    for entry in std::fs::read_dir(desk.path("")).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"), "{:?}", entry.path());
    }
    // The same server once more, as the private server that it is.
    admin.execute("create role dbdyno_tcp superuser login").unwrap();
    let target = dbdyno::model::Target::Private {
        engine: "postgres".into(),
        data_dir: home.path().to_owned(),
        server_bin: None,
        port: None,
        cluster: None,
    };
    let to = ConnectTo { url: Some(server.url()), ..ConnectTo::new(target) };
    let engine = dbdyno::engine::find("postgres").unwrap();
    engine.open(&to, dbdyno::engine::Access::Provision).unwrap();
    let left = "select count(*)::text from pg_roles where rolname = 'dbdyno_tcp'";
    assert_eq!(column(admin.as_mut(), left), ["0"]);
}
