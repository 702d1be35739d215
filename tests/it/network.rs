//! Obstacles between a load generator and a server: another network, a proxy that drops idle
//! sessions; and a server that may not be written to.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use dbdyno::engine::{self, Access, ConnectTo};
use dbdyno::model::Target;
use dbdyno::server;
use rustix::process::Signal;

use crate::cli_existing::SECRET;
use crate::remote::{Helper, with_password};
use crate::servers::{Existing, Server};
use crate::skipped::skipped;
use crate::support::{
    Desk, TINY, WINDOW, column, directory, finished, free_port, session, settings, signal,
    start_options, until,
};

/// Passes bytes on between whoever connects to its address and a port of this machine.
struct Relay {
    at: SocketAddr,
    /// Connections that it has cut.
    cut: Arc<AtomicU64>,
}

/// Connections that a relay cuts.
const MAX_CUT: u64 = 10;

/// Bytes that all connections of a relay have moved.
type Moved = Arc<AtomicU64>;

impl Relay {
    /// With `most_idle` a connection is cut that stays silent while the others move so many bytes;
    /// of ten.
    fn start(address: &str, port: u16, most_idle: Option<u64>) -> Relay {
        let listener = TcpListener::bind(address).unwrap();
        let (at, moved, cut) =
            (listener.local_addr().unwrap(), Moved::default(), Arc::<AtomicU64>::default());
        let cuts = Arc::clone(&cut);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                Relay::connect(client, server, &moved, &cuts, most_idle);
            }
        });
        Relay { at, cut }
    }

    fn connect(
        client: TcpStream,
        server: TcpStream,
        moved: &Moved,
        cut: &Moved,
        most_idle: Option<u64>,
    ) {
        let last = Arc::new(AtomicU64::new(moved.load(Relaxed)));
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let (moved, last) = (Arc::clone(moved), Arc::clone(&last));
            thread::spawn(move || pass_on(from, to, &moved, &last));
        }
        let Some(most) = most_idle else { return };
        let (moved, cut) = (Arc::clone(moved), Arc::clone(cut));
        thread::spawn(move || {
            until("it is idle", || moved.load(Relaxed).saturating_sub(last.load(Relaxed)) > most);
            // Where others move that much in no time a new connection would be cut before it is
            // used.
            if cut.fetch_add(1, Relaxed) >= MAX_CUT {
                return;
            }
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        });
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, moved: &AtomicU64, last: &AtomicU64) {
    let mut bytes = [0; 1 << 14];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        last.store(moved.fetch_add(read as u64, Relaxed) + read as u64, Relaxed);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// A network of its own, joined to that of this machine by a cable: whoever runs in it is another
/// machine to us, but for the processors. Removed when dropped.
struct Namespace {
    name: String,
    /// Of the two ends of the cable: here, there.
    ends: [String; 2],
}

impl Namespace {
    /// None, and a line that says so, if this process may not make one.
    fn new() -> Option<Namespace> {
        let id = std::process::id() % 60_000;
        // Of the range for benchmarks (RFC 2544).
        let address = |host: u32| format!("198.18.{}.{host}", id % 256);
        let made = Namespace { name: format!("dbdyno-{id}"), ends: [address(1), address(2)] };
        let (name, [here, there]) = (&made.name, &made.ends);
        let steps = [
            format!("netns add {name}"),
            format!("link add v{id}a type veth peer name v{id}b netns {name}"),
            format!("address add {here}/24 dev v{id}a"),
            format!("link set v{id}a up"),
            format!("-n {name} address add {there}/24 dev v{id}b"),
            format!("-n {name} link set v{id}b up"),
        ];
        let is_made = steps.iter().all(|step| ip(step));
        if !is_made {
            skipped("MOUNT", "this process may not make a network");
        }
        is_made.then_some(made)
    }

    /// The same command in this network.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside
            .args(["netns", "exec", &self.name])
            .arg(command.get_program())
            .args(command.get_args());
        inside
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.stdin(Stdio::null());
        inside
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The cable goes with one of its ends.
        ip(&format!("netns delete {}", self.name));
    }
}

fn ip(line: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(line.split(' ')).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn the_host_of_a_server_in_another_network_is_known_by_its_exporter() {
    let Some(network) = Namespace::new() else { return };
    let (desk, server, port) = (Desk::new(), Server::shared(), free_port());
    server.create_user("afar", SECRET, true);
    let here = &network.ends[0];
    let relay = Relay::start(&format!("{here}:0"), server.port, None);
    let _exporter = Helper::node_exporter(here, port);
    let url =
        server.url("afar").replace(&format!("127.0.0.1:{}", server.port), &relay.at.to_string());
    let measured = |more: &str| {
        let line = format!("run {url} {WINDOW} --quiet --format json {more}");
        let mut command = network.inside(&desk.command(&line));
        command.env("PGPASSWORD", SECRET);
        finished(command, &line).ok().json()
    };
    let unknown = measured("");
    assert!(unknown["tests"][0]["metrics"]["cpu_busy_pct"].is_null(), "{unknown}");
    let known = measured(&format!("--host-metrics http://{here}:{port}"));
    assert!(known["tests"][0]["metrics"]["cpu_busy_pct"].is_number(), "{known}");
    assert!(known["tests"][0]["counters"]["os_net_sent_bytes"].as_f64() > Some(0.0), "{known}");
    let fact = |section: &str, name: &str| {
        known["disclosure"][section][name].as_str().unwrap_or_default().to_string()
    };
    assert!(fact("hardware", "told_by").starts_with("node_exporter "), "{known}");
    assert!(fact("network", "round_trip_us").parse::<f64>().unwrap() > 0.0, "{known}");
}

#[test]
fn a_proxy_that_drops_idle_sessions_takes_no_counter_away() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("dropped", SECRET, true);
    let relay = Relay::start("127.0.0.1:0", server.port, Some(1 << 18));
    let url = server.url("dropped").replace(&server.port.to_string(), &relay.at.port().to_string());
    let line = format!(
        "run {url} --workload SRV-QUERY25 --drive client --jobs 1 --size 0.01 --warmup 1s \
         --duration 3s --format json"
    );
    let done = with_password(&desk, &line).ok();
    assert!(relay.cut.load(Relaxed) > 0);
    assert!(!done.stderr.contains("probe sql"), "{}", done.stderr);
    let run = done.json();
    let test = &run["tests"][0];
    assert!(test["counters"]["index_scans"].as_f64() > Some(0.0), "{test:#}");
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    // Whose host a proxy stands before is not known, which is a note and lowers nothing.
    let is_lowered = |code: &str| {
        reasons.iter().any(|reason| reason["code"] == code && reason["status"] != "valid")
    };
    assert!(!is_lowered("unchecked"), "{reasons:#?}");
}

#[test]
fn a_standby_can_only_read_and_is_one_line() {
    let (dir, desk) = (directory(), Desk::new());
    let server =
        server::start("postgres", &start_options(dir.path(), &[("shared_buffers", "16MB")]))
            .unwrap();
    std::fs::write(server.storage_path().join("standby.signal"), "").unwrap();
    // After a crash of one of its processes it recovers, and reads that file.
    let mut session = session(&server.url());
    let pid = column(session.as_mut(), "select pg_backend_pid()").remove(0);
    signal(pid.parse().unwrap(), Signal::KILL);
    until("it is a standby", || {
        std::fs::read_to_string(server.log_path()).unwrap().contains("read-only connections")
    });
    desk.run(&format!("run {} {TINY} --quiet", server.url()))
        .fails(3, &["the server is a standby", "connect to its primary"]);
    assert_eq!(desk.runs().len(), 0);
}

/// Facts about a server at this port: its processes, and the directory of its files.
fn server_facts(engine: &str, url: &str, port: u16) -> (Vec<u32>, Option<PathBuf>) {
    let target = Target::Existing { engine: engine.into(), url: url.into() };
    let url = Some(url.replace("PORT", &port.to_string()));
    let password = Some(SECRET.into());
    let to = ConnectTo { url, password, settings: settings(&[]), ..ConnectTo::new(target) };
    let database = engine::find(engine).unwrap().open(&to, Access::Watch).unwrap();
    (database.server_pids(), database.storage_path())
}

/// A container's port is published so: a process of this host passes bytes on to a server whose
/// processes and files have other names here, or names that are somebody else's.
#[test]
fn a_server_behind_a_published_port_is_not_taken_for_one_of_this_host() {
    let (postgres, mut mariadb) = (Server::shared(), Existing::shared());
    let role = format!("create role published superuser login password '{SECRET}'");
    postgres.admin("postgres").execute(&role).unwrap();
    mariadb.create_user("published", "");
    let mariadb_port = column(mariadb.admin.as_mut(), "select @@port")[0].parse().unwrap();
    for (engine, url, port) in [
        ("postgres", "postgres://published@127.0.0.1:PORT/postgres", postgres.port),
        ("mariadb", "mariadb://published@127.0.0.1:PORT/", mariadb_port),
    ] {
        let (pids, directory) = server_facts(engine, url, port);
        assert!(!pids.is_empty() && directory.is_some(), "{engine}: {pids:?} {directory:?}");
        let relay = Relay::start("127.0.0.1:0", port, None);
        assert_eq!(server_facts(engine, url, relay.at.port()), (Vec::new(), None), "{engine}");
    }
    mariadb.admin.execute("drop user published@'127.0.0.1'").unwrap();
    postgres.admin("postgres").execute("drop role published").unwrap();
}
