//! Servers that are elsewhere, or stand behind something: who tells of their host, what a user with
//! few rights can have, what is refused. `0.0.0.0` leads to this machine, but is not an address of
//! its own loop: such a server counts as elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use dbdyno::host;
use serde_json::Value;

use crate::cli_existing::{SECRET, stub};
use crate::leftovers::Directory;
use crate::servers::{Existing, Server};
use crate::skipped::skipped;
use crate::support::{Desk, Done, TINY, WINDOW, directory, finished, free_port, mistakes, until};

/// Of `probe`.
const TOKEN: &str = "sixteen-or-more-letters";
/// Arguments of `check`.
const FEW: &str = "--size 0.01 --workload SRV-QUERY1";

/// A program that is ended with the test.
pub struct Helper(Child);

impl Helper {
    fn start(mut command: Command) -> Helper {
        command.stdin(Stdio::null()).stderr(Stdio::null());
        Helper(
            command.spawn().unwrap_or_else(|error| {
                panic!("{command:?} (scripts/test-dependencies.sh): {error}")
            }),
        )
    }

    pub fn node_exporter(address: &str, port: u16) -> Helper {
        let mut command = Command::new("prometheus-node-exporter");
        command.arg(format!("--web.listen-address={address}:{port}")).stdout(Stdio::null());
        let started = Helper::start(command);
        until("node_exporter answers", || std::net::TcpStream::connect((address, port)).is_ok());
        started
    }

    /// `dbdyno host-exporter`, once it has told where it listens.
    fn probe(desk: &Desk, port: u16) -> Helper {
        let mut command = desk.command(&format!("host-exporter --listen {port}"));
        command.env("DBDYNO_TOKEN", TOKEN).stdout(Stdio::piped());
        let mut started = Helper::start(command);
        let mut told = String::new();
        BufReader::new(started.0.stdout.as_mut().unwrap()).read_line(&mut told).unwrap();
        assert_eq!(told, format!("http://127.0.0.1:{port}/metrics\n"));
        started
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn with_password(desk: &Desk, line: &str) -> Done {
    let mut command = desk.command(line);
    command.env("PGPASSWORD", SECRET).env("MYSQL_PWD", SECRET).env("DBDYNO_HOST_TOKEN", TOKEN);
    finished(command, line)
}

/// The only test of a run, and who has told of the host.
fn measure(desk: &Desk, target: &str) -> (Value, Option<String>) {
    let run =
        with_password(desk, &format!("run {target} {WINDOW} --quiet --format json")).ok().json();
    let test = run["tests"][0].clone();
    assert_eq!(mistakes(&test), Vec::<&Value>::new());
    let told_by = run["disclosure"]["hardware"]["told_by"].as_str().map(String::from);
    if told_by.is_some() {
        let here = host::disclosure(None);
        let network = |fact: &str| {
            run["disclosure"]["network"][fact].as_str().unwrap().parse::<f64>().unwrap()
        };
        assert!(network("round_trip_us") > 0.0, "{}", run["disclosure"]["network"]);
        for (section, fact) in
            [("hardware", "threads"), ("hardware", "memory_mb"), ("os", "kernel")]
        {
            assert_eq!(
                run["disclosure"][section][fact].as_str(),
                here.get(section, fact),
                "{fact} by {told_by:?}"
            );
        }
    }
    (test, told_by)
}

#[test]
fn whoever_knows_the_host_of_a_server_tells_its_figures() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("hosted", SECRET, true);
    let elsewhere = server.url("hosted").replace("127.0.0.1", "0.0.0.0");
    let is_known = |test: &Value, name: &str| test["metrics"][name].is_number();
    let (test, told_by) = measure(&desk, &elsewhere);
    assert!(told_by.is_none() && !is_known(&test, "cpu_busy_pct"), "{told_by:?} {test}");
    let check = || with_password(&desk, &format!("check {elsewhere} {FEW}")).ok().stdout;
    let lacks = check();
    for statement in [
        "grant pg_monitor to hosted",
        "start a node_exporter there, or \"dbdyno host-exporter\", and name it with \
         --host-metrics; or,",
        "grant pg_read_server_files to hosted; grant execute on function",
    ] {
        assert!(
            lacks.lines().any(|line| line.starts_with("lacks") && line.contains(statement)),
            "{lacks}"
        );
    }
    let mut admin = server.admin("hosted");
    admin.execute("grant pg_read_server_files, pg_monitor to hosted").unwrap();
    admin
        .execute("grant execute on function pg_read_file(text, bigint, bigint, boolean) to hosted")
        .unwrap();
    assert!(!check().contains("figures of its host"), "{}", check());
    let (test, told_by) = measure(&desk, &elsewhere);
    assert_eq!(told_by.as_deref(), Some("the server"));
    for name in ["cpu_busy_pct", "cpu_steal_pct"] {
        assert!(is_known(&test, name), "{name}: {test}");
    }
    assert!(test["counters"]["os_net_sent_bytes"].is_number(), "{test}");
    let shown = desk.run("report platform last").ok().stdout;
    assert!(shown.contains("told_by") && shown.contains("the server"), "{shown}");
}

#[test]
fn an_exporter_on_the_host_of_a_server_tells_its_figures() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("exported", SECRET, true);
    let (exporter, probe) = (free_port(), free_port());
    let url = |port: u16, path: &str| {
        format!("{} --host-metrics http://127.0.0.1:{port}{path}", server.url("exported"))
    };
    {
        let _started = Helper::node_exporter("127.0.0.1", exporter);
        let (test, told_by) = measure(&desk, &url(exporter, ""));
        assert!(told_by.unwrap().starts_with("node_exporter 1."), "{test}");
        assert!(test["metrics"]["cpu_busy_pct"].is_number(), "{test}");
    }
    let _started = Helper::probe(&desk, probe);
    let (test, told_by) = measure(&desk, &url(probe, "/metrics"));
    assert!(told_by.unwrap().starts_with("dbdyno host-exporter "), "{test}");
    assert!(test["metrics"]["cpu_busy_pct"].is_number(), "{test}");
    let checked = with_password(&desk, &format!("check {} {FEW}", url(probe, ""))).ok();
    assert!(checked.stdout.contains("host: dbdyno host-exporter "), "{checked:?}");
    let run = |target: &str| with_password(&desk, &format!("run {target} {TINY} --quiet"));
    run(&url(probe, "/other")).fails(3, &["--host-metrics", "404"]);
    run(&url(exporter, "")).fails(3, &["--host-metrics", "does not answer", "node_exporter"]);
    desk.run(&format!("run {} {TINY} --quiet", url(probe, ""))).fails(3, &["password"]);
    desk.run(&format!("run sqlite {TINY} --host-metrics http://db1:9100"))
        .fails(2, &["runs on this host"]);
    desk.run(&format!("run sqlite {TINY} --host-metrics db1:9100"))
        .fails(2, &["node_exporter", "http://db1:9100/metrics"]);
    desk.run("host-exporter --listen 0.0.0.0:9101")
        .fails(2, &["can be reached from the network", "DBDYNO_TOKEN"]);
}

/// A pgbouncer in transaction mode before a server's database of a user; none where it is not
/// installed.
fn pooler(dir: &Directory, server: &Server, user: &str, more: &str) -> Option<(Helper, u16)> {
    if Command::new("pgbouncer").arg("--version").output().is_err() {
        skipped("PGBOUNCER", "there is no pgbouncer here (scripts/test-dependencies.sh)");
        return None;
    }
    let port = free_port();
    let config = dir.path().join(format!("{port}.ini"));
    let text = format!(
        "[databases]\n{user} = host=127.0.0.1 port={} user={user} \
         password={SECRET}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type \
         = any\npool_mode = transaction\nunix_socket_dir =\n{more}\n",
        server.port
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new("pgbouncer");
    if host::is_root() {
        // It refuses to be root.
        command.args(["-u", "nobody"]);
    }
    command.arg(&config).stdout(Stdio::null());
    let started = Helper::start(command);
    until("pgbouncer answers", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    Some((started, port))
}

#[test]
fn a_pooler_is_refused_in_one_line_whether_it_passes_settings_on_or_drops_them() {
    let (desk, server, dir) = (Desk::new(), Server::shared(), directory());
    server.create_user("pooled", SECRET, true);
    let drops = "ignore_startup_parameters = statement_timeout, \
                 idle_in_transaction_session_timeout, jit, extra_float_digits";
    for more in ["", drops] {
        let Some((_pgbouncer, port)) = pooler(&dir, server, "pooled", more) else { return };
        let url = format!("postgres://pooled@127.0.0.1:{port}/pooled");
        with_password(&desk, &format!("run {url} {TINY} --quiet"))
            .fails(3, &[&url, "leads to a connection pooler", "itself"]);
    }
    assert_eq!(desk.runs().len(), 0);
}

/// The line about a pooler in transaction mode, of a version before 1.21.
const BREAKS: &str = "lends a session of the server to each transaction: it does not keep prepared \
                      statements, settings of a session, advisory locks";

/// Workload and way of a test.
fn way(test: &Value) -> String {
    let named = ["workload", "protocol", "transport"].map(|name| {
        let value = if name == "workload" { &test[name] } else { &test["params"][name] };
        value.as_str().unwrap_or("-")
    });
    named.join(" ")
}

/// Tests by workload and way, each with how often it ran.
fn ways(tests: &Value) -> BTreeMap<String, usize> {
    let mut ways = BTreeMap::new();
    for test in tests["tests"].as_array().unwrap() {
        *ways.entry(way(test)).or_default() += 1;
    }
    ways
}

#[test]
fn tests_go_directly_and_through_a_pooler_and_what_it_breaks_is_one_line() {
    // Enough for one without commits of others among them.
    const REPEATS: usize = 4;
    let (server, dir) = (Server::shared(), directory());
    server.create_user("via", SECRET, true);
    for (mode, lends) in [("transaction", true), ("session", false)] {
        let desk = Desk::new();
        let Some((_pgbouncer, port)) = pooler(&dir, server, "via", &format!("pool_mode = {mode}"))
        else {
            return;
        };
        let line = format!(
            "run {} --via postgres://via@127.0.0.1:{port}/via --workload SRV-QUERY1 --workload \
             CONN-NEW --workload TP-LIGHT --size 0.01 --jobs 2 --ops 60 --repeat {REPEATS} \
             --format json",
            server.url("via")
        );
        let done = with_password(&desk, &line).ok();
        assert_eq!(done.stderr.contains(BREAKS), lends, "{}", done.stderr);
        let document = done.json();
        for test in document["tests"].as_array().unwrap() {
            // What the pooler resets after a session is a commit that is told with another test;
            // other tests of this server use its cache, too.
            let mut found = mistakes(test);
            found.retain(|reason| {
                reason["code"] != "contract" && reason["sentence"]["values"]["what"] != "commits"
            });
            assert_eq!(found, Vec::<&Value>::new());
            assert_eq!(
                (test["errors"].as_u64(), test["drive"].as_str()),
                (Some(0), Some("client"))
            );
        }
        let ways = ways(&document);
        let runs = |way: &str| ways.get(way).copied().unwrap_or_default();
        for id in ["SRV-QUERY1", "TP-LIGHT"] {
            let direct = [format!("{id} - -"), format!("{id} simple -")];
            assert_eq!(direct.map(|way| runs(&way)), [REPEATS; 2], "{ways:?}");
            assert_eq!(runs(&format!("{id} simple pooler")), REPEATS, "{ways:?}");
            let prepared = if lends { 0 } else { REPEATS };
            assert_eq!(runs(&format!("{id} - pooler")), prepared, "{ways:?}");
        }
        assert_eq!([runs("CONN-NEW - -"), runs("CONN-NEW - pooler")], [REPEATS; 2], "{ways:?}");
        // What the pooler's sessions counted is told with the test that it is of: its 120 ops, and
        // the statements of our own readings.
        for id in ["SRV-QUERY1", "TP-LIGHT"] {
            let is_pooled = |test: &&Value| way(test) == format!("{id} simple pooler");
            let pooled = document["tests"].as_array().unwrap().iter().filter(is_pooled);
            let least = pooled.filter_map(|test| test["counters"]["commits"].as_f64());
            let least = least.fold(f64::INFINITY, f64::min);
            assert!((120.0..=180.0).contains(&least), "{id} in the mode {mode}: {least} commits");
        }
        let layers = desk.run("report layers last --format json").ok().json();
        // Commits of other sessions of ours make tests as short as these invalid, now and then:
        // what is compared is told of the blocks that are left.
        let studies = layers["studies"].as_array().unwrap();
        let workloads: BTreeSet<&str> =
            studies.iter().map(|study| study["workload"].as_str().unwrap()).collect();
        assert_eq!(workloads, BTreeSet::from(["CONN-NEW", "SRV-QUERY1", "TP-LIGHT"]));
        for study in studies {
            let rows = study["layers"].as_array().unwrap();
            let forms = if lends || study["workload"] == "CONN-NEW" { 1 } else { 2 };
            assert_eq!(rows.len(), forms, "{study:#}");
            for row in rows {
                assert_eq!(row["layer"], "pooler", "{study:#}");
                assert!(row["blocks"].as_u64() <= Some(REPEATS as u64), "{study:#}");
            }
        }
        let platform = desk.run("report platform last").ok().stdout;
        for told in ["PgBouncer 1.", mode, "pooler_keeps_prepared"] {
            assert!(platform.contains(told), "{told}: {platform}");
        }
    }
}

#[test]
fn a_run_through_a_pooler_is_done_again_by_its_file_and_by_its_bundle() {
    let (desk, server, dir) = (Desk::new(), Server::shared(), directory());
    server.create_user("via_again", SECRET, true);
    let by_turns = "server_round_robin = 1\nmin_pool_size = 2";
    let Some((_pgbouncer, port)) = pooler(&dir, server, "via_again", by_turns) else { return };
    let (url, via) =
        (server.url("via_again"), format!("postgres://via_again@127.0.0.1:{port}/via_again"));
    let shape = "--size 0.01 --jobs 1 --ops 20";
    let line = format!("run {url} --via {via} --workload SRV-QUERY1 {shape} --format json");
    let done = with_password(&desk, &line).ok();
    assert!(done.stderr.contains(BREAKS), "{}", done.stderr);
    let first = ways(&done.json());
    assert_eq!(first.len(), 3, "{first:?}");
    let file = desk.path("again.toml");
    let text = desk.run("show run last --as-file").ok().stdout;
    assert!(text.contains(&format!("via = \"{via}\"")), "{text}");
    std::fs::write(&file, text).unwrap();
    let again = with_password(&desk, &format!("run {} --format json --quiet", file.display())).ok();
    assert_eq!(ways(&again.json()), first);
    let bundle = desk.path("run.dbdyno");
    desk.run(&format!("bundle last -o {}", bundle.display())).ok();
    let rerun = |more: &str| {
        let line = format!("rerun {} {url} {more}", bundle.display());
        with_password(&desk, &line)
    };
    let last = || ways(&desk.shown("last"));
    rerun(&format!("--via {via}")).ok();
    assert_eq!(last(), first);
    let without = rerun("").ok();
    assert!(without.stderr.contains("no pooler is named"), "{}", without.stderr);
    assert!(last().keys().all(|way| !way.contains("pooler")) && last().len() == 2, "{:?}", last());
    desk.run(&format!("bundle last -o {}", bundle.display())).ok();
    rerun(&format!("--via {via}")).fails(2, &["--via", "went through a pooler"]);
}

#[test]
fn a_pooler_that_is_no_way_to_the_target_is_refused_in_one_line() {
    let (desk, server, dir) = (Desk::new(), Server::shared(), directory());
    server.create_user("via_one", SECRET, true);
    server.create_user("via_two", SECRET, true);
    let Some((_pgbouncer, port)) = pooler(&dir, server, "via_two", "") else { return };
    let through = |target: &str, port: u16, more: &str| {
        let line = format!(
            "run {target} --via postgres://via_two@127.0.0.1:{port}/via_two {TINY} --quiet {more}"
        );
        with_password(&desk, &line)
    };
    let via = |target: &str, more: &str| through(target, port, more);
    via(&server.url("via_one"), "").fails(2, &["--via", "leads to another server or database"]);
    via(&server.url("via_two"), "--drive database").fails(2, &["--via", "clients"]);
    via("postgres", "").fails(2, &["--via", "existing server"]);
    via("sqlite", "").fails(2, &["--via", "no connection"]);
    via("mysql://u@127.0.0.1/d", "").fails(2, &["--via", "no pooler before this database"]);
    let target = server.url("via_two");
    for (url, what) in [
        ("postgres://via_two:secret-word@h/d", "password"),
        ("mysql://via_two@h/d", "another product"),
        ("via_two:secret-word@h/d", "not a URL"),
    ] {
        let refused = with_password(&desk, &format!("run {target} --via {url} {TINY} --quiet"));
        let refused = refused.fails(2, &["--via", what]);
        assert!(!refused.stderr.contains("secret-word"), "{}", refused.stderr);
    }
    through(&target, free_port(), "").fails(3, &["--via", "refused"]);
    let line = format!("run {target} --workload SRV-QUERY1:transport=pooler --quiet");
    with_password(&desk, &line).fails(3, &["no pooler is named"]);
    let single = "pool_mode = session\ndefault_pool_size = 1\nquery_wait_timeout = 1";
    let Some((_single, port)) = pooler(&dir, server, "via_two", single) else { return };
    through(&target, port, "").fails(3, &["--via", "no second session"]);
    assert_eq!(desk.runs().len(), 0);
}

#[test]
fn a_pooler_has_a_password_of_its_own_which_is_looked_for_as_that_of_a_server() {
    const POOLERS: &str = "the-poolers-own-word";
    let (desk, server, dir) = (Desk::new(), Server::shared(), directory());
    server.create_user("via_own", SECRET, true);
    let users = dir.path().join("users");
    std::fs::write(&users, format!("\"via_own\" \"{POOLERS}\"\n")).unwrap();
    let asks = format!("auth_type = scram-sha-256\nauth_file = {}", users.display());
    let Some((_pgbouncer, port)) = pooler(&dir, server, "via_own", &asks) else { return };
    let line = format!(
        "run {} --via postgres://via_own@127.0.0.1:{port}/via_own --workload SRV-QUERY1 --size \
         0.01 --jobs 1 --ops 20 --format json",
        server.url("via_own")
    );
    let with = |passwords: &str| {
        let file = desk.path("passwords");
        std::fs::write(&file, passwords).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let mut command = desk.command(&line);
        command.env("PGPASSFILE", &file);
        finished(command, &line)
    };
    let of_server = format!("127.0.0.1:{}:*:*:{SECRET}\n", server.port);
    with(&of_server).fails(3, &["--via", "wants a password", "PGPASSWORD"]);
    with(&format!("{of_server}*:*:*:*:wrong\n")).fails(3, &["--via"]);
    let done = with(&format!("{of_server}127.0.0.1:{port}:*:*:{POOLERS}\n")).ok();
    assert_eq!(ways(&done.json()).len(), 3, "{}", done.stderr);
    // Its console tells other users nothing, and they are told nothing of that.
    let platform = desk.run("report platform last").ok().stdout;
    assert!(platform.contains("pooler_mode") && !platform.contains("PgBouncer"), "{platform}");
    for text in [&done.stdout, &done.stderr, &platform] {
        assert!(!text.contains(POOLERS) && !text.contains(SECRET), "{text}");
    }
}

#[test]
fn limits_of_a_users_sessions_are_told_or_do_not_hold_for_ours() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("limited", SECRET, true);
    let mut admin = server.admin("limited");
    admin.execute("alter role limited set statement_timeout = '1ms'").unwrap();
    measure(&desk, &server.url("limited"));
    admin.execute("alter role limited set default_transaction_read_only = on").unwrap();
    let line = format!("run {} {TINY} --quiet", server.url("limited"));
    with_password(&desk, &line).fails(3, &["can only read", "default_transaction_read_only = off"]);
}

#[test]
fn a_user_of_mariadb_with_a_schema_alone_measures_and_is_told_what_it_lacks() {
    let (desk, mut existing) = (Desk::new(), Existing::shared());
    existing.create_user("alone", "all");
    let (test, _) = measure(&desk, &existing.url("alone"));
    assert!(test["ops"].as_u64() > Some(0), "{test}");
    let check =
        |desk: &Desk, url: &str| with_password(desk, &format!("check {url} {FEW}")).ok().stdout;
    let lacks = check(&desk, &existing.url("alone"));
    assert!(lacks.contains("grant process on *.* to 'alone'@'127.0.0.1'"), "{lacks}");
    existing.admin.execute("grant process on *.* to 'alone'@'127.0.0.1'").unwrap();
    let lacks = check(&desk, &existing.url("alone"));
    assert!(!lacks.contains("grant "), "{lacks}");
}

/// A message of PostgreSQL's protocol (manual: "Message Formats").
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

#[test]
fn a_foreign_server_that_speaks_the_protocol_is_one_line() {
    let greeting =
        [message(b'R', &[0; 4]), message(b'S', b"server_version\x0013.0.0\0"), message(b'Z', b"I")]
            .concat();
    let refusal = [
        message(b'E', b"SERROR\0C42883\0Munknown function: pg_is_in_recovery()\0\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    let answers: &'static [&'static [u8]] =
        Box::leak(Box::new([&*greeting.leak(), &*refusal.leak()]));
    let (port, heard) = stub(answers, true);
    let desk = Desk::new();
    let line = format!("run postgres://me@127.0.0.1:{port}/app?sslmode=disable {TINY} --quiet");
    desk.run(&line).fails(3, &["unknown function: pg_is_in_recovery()"]);
    heard.join().unwrap();
}
