//! Metrics of a run while it goes on: OpenMetrics, as a real Prometheus reads them. Metrics that a
//! monitor gives of a server.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use dbdyno::monitor::{self, open_metrics};
use dbdyno::store::Store;
use rustix::process::Signal;
use rustix::pty::OpenptFlags;
use serde_json::Value;

use crate::cli_existing::SECRET;
use crate::leftovers::Directory;
use crate::servers::{Lease, Server};
use crate::support::{
    Desk, TINY, column, directory, ended, finished, free_port, signal, try_session_of, until,
};

/// A run that goes on until it is interrupted.
const LONG: &str = "run sqlite --quiet --size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0";

/// The answer to a GET: head and body; none if nobody answers.
fn get(port: u16, path: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.to_string(), body.to_string()))
}

/// The program with metrics at a port; it is ended as a user ends it.
struct MetricsProgram {
    child: Option<Child>,
    port: u16,
}

impl MetricsProgram {
    fn start(desk: &Desk, line: &str) -> MetricsProgram {
        let port = free_port();
        MetricsProgram { child: Some(desk.spawn(&format!("{line} --metrics {port}"))), port }
    }

    /// The metrics, once they have all of this.
    fn with(&self, words: &[&str]) -> String {
        let mut text = String::new();
        until(&format!("{words:?} are told"), || {
            text = get(self.port, "/metrics").map(|(_, body)| body).unwrap_or_default();
            words.iter().all(|word| text.contains(word))
        });
        text
    }

    fn end(mut self) {
        let child = self.child.take().unwrap();
        signal(child.id(), Signal::INT);
        let done = ended(child, "interrupted");
        assert!([0, 130].contains(&done.code.unwrap()), "{done:?}");
    }
}

impl Drop for MetricsProgram {
    fn drop(&mut self) {
        self.child.iter_mut().for_each(|child| drop(child.kill()));
    }
}

/// Names of the samples of a page.
fn names(page: &str) -> BTreeSet<&str> {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.split(['{', ' ']).next().unwrap()).collect()
}

/// Names of all samples that there are.
fn known_names() -> BTreeSet<String> {
    let families = monitor::RUN_FAMILIES.iter().chain(&monitor::live_metrics::FAMILIES);
    families.flat_map(|family| family.sample_names()).collect()
}

/// A Prometheus that reads the metrics at a port.
struct Prometheus {
    child: Child,
    port: u16,
    _dir: Directory,
}

impl Prometheus {
    fn start(of_port: u16) -> Prometheus {
        let (dir, port) = (directory(), free_port());
        let config = dir.path().join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\nscrape_configs: [{{ job_name: \
             dbdyno, static_configs: [{{ targets: ['127.0.0.1:{of_port}'] }}] }}]\n"
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("prometheus (scripts/test-dependencies.sh installs it)");
        Prometheus { child, port, _dir: dir }
    }

    /// The series that a query finds now.
    fn found(&self, query: &str) -> Vec<Value> {
        let answer = get(self.port, &format!("/api/v1/query?query={query}"));
        // Its API answers in chunks, the only one of which begins behind its length.
        let json =
            answer.and_then(|(_, body)| Some(body[body.find('{')?..=body.rfind('}')?].to_string()));
        let answer: Value =
            json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn prometheus_reads_the_metrics_of_a_run() {
    let desk = Desk::new();
    let told = MetricsProgram::start(&desk, &format!("{LONG} --duration 300ms --repeat 1000"));
    let prometheus = Prometheus::start(told.port);
    let page = told.with(&["dbdyno_test_kpm{"]);
    until("Prometheus has the test that is over", || {
        !prometheus.found("dbdyno_test_kpm").is_empty()
    });
    let found = prometheus.found("dbdyno_test_kpm");
    assert_eq!(found[0]["metric"]["workload"], "SRV-QUERY1", "{found:?}");
    // As a histogram: 1, 2.5, 5 of seven decades, ten seconds, and all.
    assert_eq!(prometheus.found("dbdyno_test_service_time_spread_seconds_bucket").len(), 23);
    assert_eq!(found[0]["metric"]["unit"], "qps");
    let types = get(prometheus.port, "/api/v1/metadata?metric=dbdyno_test_verdict").unwrap().1;
    assert!(types.contains("stateset"), "{types}");
    assert!(page.ends_with("# EOF\n"), "{page}");
    told.end();
}

#[test]
fn a_run_tells_the_test_under_way_and_every_name_of_its_own() {
    let desk = Desk::new();
    let told = MetricsProgram::start(&desk, &format!("{LONG} --duration 1h"));
    let page = told.with(&["dbdyno_running_ops_rate{", "dbdyno_run_left_seconds "]);
    assert!(
        page.contains(
            "dbdyno_running{workload=\"SRV-QUERY1\",params=\"\",drive=\"client\",jobs=\"1\"} 1"
        ),
        "{page}"
    );
    let known = known_names();
    let strange: Vec<_> = names(&page).into_iter().filter(|name| !known.contains(*name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    let (head, _) = get(told.port, "/metrics").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains(open_metrics::CONTENT_TYPE),
        "{head}"
    );
    assert!(get(told.port, "/elsewhere").unwrap().0.starts_with("HTTP/1.1 404"));
    told.end();
}

#[test]
fn a_port_in_use_is_one_line_and_nothing_is_measured() {
    let (desk, taken) = (Desk::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = taken.local_addr().unwrap().port();
    let line = format!("{LONG} --metrics {port}");
    desk.run(&line).fails(2, &["--metrics: cannot listen at 127.0.0.1:", "choose another port"]);
    assert!(desk.runs().is_empty());
    desk.run(&format!("{LONG} --metrics everywhere")).fails(2, &["--metrics", "write 9464"]);
}

#[test]
fn the_dashboard_asks_for_names_that_there_are() {
    let text = std::fs::read_to_string("examples/grafana/dbdyno.json").unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let asked: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    let known = known_names();
    assert!(asked.len() >= panels.len() && panels.len() > 5);
    for expression in asked {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = expression.split(|c| !word(c)).filter(|name| name.starts_with("dbdyno_"));
        // The label of a state set has the name of its family.
        let names: Vec<_> = names.collect();
        assert!(
            !names.is_empty() && names.iter().all(|name| known.contains(*name)),
            "{expression}"
        );
    }
}

/// True once a recording is in a results file.
fn is_recording(file: &std::path::Path) -> bool {
    let runs = Store::open_to_read(file).and_then(|store| store.runs());
    runs.is_ok_and(|runs| !runs.is_empty())
}

/// Rate in a sample of the monitor.
fn rate<'a>(look: &'a Value, id: &str) -> &'a Value {
    look["rates"].as_array().unwrap().iter().find(|rate| rate["id"] == id).unwrap_or(&Value::Null)
}

#[test]
fn a_monitor_needs_no_rights_but_to_look_and_creates_nothing() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("onlooker", SECRET, false);
    let look = || {
        let line =
            format!("monitor {} --once --interval 300ms --format json", server.url("onlooker"));
        let mut command = desk.command(&line);
        command.env("PGPASSWORD", SECRET);
        finished(command, &line).ok().json()
    };
    let seen = look();
    // What of its own queries is counted already is the server's affair.
    assert!(
        rate(&seen, "commits")["now"].is_f64() && rate(&seen, "logical_reads")["peak"].is_f64(),
        "{seen:#}"
    );
    assert!(seen["cost"]["queries_per_s"].as_f64() > Some(0.0), "{seen:#}");
    assert!(seen["missing"].to_string().contains("not a member of pg_monitor"), "{seen:#}");
    let mut admin = server.admin("onlooker");
    admin.execute("grant pg_monitor to onlooker").unwrap();
    let seen = look();
    assert!(!seen["missing"].to_string().contains("pg_monitor"), "{seen:#}");
    assert!(seen["missing"].to_string().contains("pg_stat_statements"), "{seen:#}");
    assert_eq!(
        column(admin.as_mut(), "select nspname from pg_namespace where nspname = 'dbdyno'"),
        Vec::<String>::new()
    );
}

#[test]
fn a_monitor_sees_what_sessions_of_others_wait_for() {
    for engine in ["postgres", "mariadb"] {
        let (desk, lease) = (Desk::new(), Lease::new(engine, None, &[]));
        let sql = if engine == "postgres" { "select pg_sleep(3600)" } else { "select sleep(3600)" };
        let mut holder = try_session_of(engine, &lease.url).unwrap();
        let id = "select pg_backend_pid()";
        let id = holder
            .query(if engine == "postgres" { id } else { "select connection_id()" }, &[])
            .unwrap();
        let id = id.scalar().unwrap().to_string();
        let sleeper = std::thread::spawn(move || drop(holder.query(sql, &[])));
        let line = format!("monitor {} --once --interval 500ms --format json", lease.url);
        until("the monitor sees the session that sleeps", || {
            let seen = desk.run(&line).ok().json();
            assert!(rate(&seen, "redo")["now"].is_f64(), "{seen:#}");
            let waits = seen["waits"].as_array().unwrap().iter();
            let events: Vec<_> = waits.filter_map(|wait| wait["event"].as_str()).collect();
            events.iter().any(|event| ["PgSleep", "User sleep"].contains(event))
        });
        let mut admin = try_session_of(engine, &lease.url).unwrap();
        let end = if engine == "postgres" {
            format!("select pg_terminate_backend({id})")
        } else {
            format!("kill {id}")
        };
        let _ = admin.query(&end, &[]);
        sleeper.join().unwrap();
    }
}

#[test]
fn a_server_that_no_longer_answers_ends_the_monitor_with_one_line() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let file = desk.path("day.db");
    let line =
        format!("monitor {} --interval 250ms --quiet --record {}", lease.url, file.display());
    let monitor = desk.spawn(&line);
    until("it records", || file.exists() && is_recording(&file));
    drop(lease);
    let done = ended(monitor, &line);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert_eq!(
        done.stderr.lines().filter(|line| line.starts_with("dbdyno: ")).count(),
        1,
        "{done:?}"
    );
    let run = desk
        .run(&format!("results show last --results {} --format json", file.display()))
        .ok()
        .json();
    assert_eq!(run["status"], "failed", "what was seen is kept: {run}");
}

#[test]
fn a_load_is_told_as_a_share_of_what_its_platform_was_measured_to_do() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let small = "--size 0.01 --quiet --duration 300ms --warmup 0";
    desk.run(&format!(
        "run {} {small} --workload TP-LIGHT:update_pct=100 --jobs 1 --drive client",
        lease.url
    ))
    .ok();
    let seen = desk
        .run(&format!("monitor {} --baseline last --once --format json", lease.url))
        .ok()
        .json();
    let commits = rate(&seen, "commits");
    let (now, against) = (commits["now"].as_f64().unwrap(), &commits["against"]);
    let share = now / against["measured"].as_f64().unwrap();
    assert!((against["used"].as_f64().unwrap() - share).abs() < 1e-9, "{commits}");
    assert_eq!(against["workload"], "TP-LIGHT:update_pct=100");
    assert!(rate(&seen, "log_syncs")["against"].is_null(), "commits share syncs: {seen:#}");
    let text = desk.run(&format!("monitor {} --baseline last --once", lease.url)).ok().stdout;
    assert!(text.contains("unknown") && text.contains("this monitor: "), "{text}");
    let head = text.lines().next().unwrap();
    assert!(head.contains(" at 2") && head.contains(", against run "), "{head}");
    desk.run(&format!("run sqlite {TINY} --quiet")).ok();
    let line = format!("monitor {} --baseline last --once", lease.url);
    desk.run(&line).fails(2, &["--baseline: the platform of run 2 differs: ", "measure this one"]);
}

#[test]
fn a_recording_is_replayed_and_reported() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let file = desk.path("day.db");
    let file = file.display();
    let line =
        format!("monitor {} --interval 250ms --duration 1s --record {file} --name day", lease.url);
    let shown = desk.run(&line).ok();
    assert!(
        shown.stdout.lines().count() >= 2
            && shown.stdout.lines().all(|line| line.contains("Commits ")),
        "{shown:?}"
    );
    let replayed = desk.run(&format!("monitor --replay day --results {file}")).ok();
    assert_eq!(replayed.stdout.lines().count(), shown.stdout.lines().count(), "{replayed:?}");
    let run = desk.run(&format!("results show day --results {file} --format json")).ok().json();
    assert_eq!(
        (&run["tests"][0]["workload"], &run["tests"][0]["verdict"]["status"]),
        (&"LIVE".into(), &"conditional".into())
    );
    crate::support::assert_run_schema(&run);
    for report in ["html day", "test day:1", "datasheet day", "kpm day"] {
        let report =
            desk.run(&format!("report {report} --results {file} --language de")).ok().stdout;
        assert!(report.contains("LIVE"), "{report}");
    }
    Desk::with_run().run("monitor --replay last").fails(2, &["is not a recording"]);
}

#[test]
fn a_monitor_tells_metrics_and_refuses_what_nobody_else_uses() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let told = MetricsProgram::start(&desk, &format!("monitor {} --interval 300ms", lease.url));
    let page =
        told.with(&["dbdyno_live_rate{kpm=\"commits\",unit=\"tps\"}", "dbdyno_monitor_info{"]);
    let known = known_names();
    let strange: Vec<_> = names(&page).into_iter().filter(|name| !known.contains(*name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    told.end();
    desk.run("monitor sqlite").fails(2, &["sqlite", "only the URL of one can be monitored"]);
    desk.run("monitor").fails(2, &["TARGET"]);
    desk.run(&format!("monitor {} --format json", lease.url)).fails(2, &["add --once"]);
}

/// The program on a terminal of 100 columns and 30 lines.
struct Screen {
    terminal: OwnedFd,
    child: Child,
    shown: Vec<u8>,
}

impl Screen {
    fn start(desk: &Desk, line: &str) -> Screen {
        use std::os::unix::ffi::OsStrExt;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&terminal).unwrap();
        let size = rustix::termios::Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
        let name = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let screen = || std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
        rustix::termios::tcsetwinsize(screen(), size).unwrap();
        let program = desk.command(line);
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(program.get_program()).args(program.get_args());
        session
            .env_clear()
            .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        session.env("TERM", "xterm");
        let child = session.stdin(screen()).stdout(screen()).stderr(screen()).spawn().unwrap();
        rustix::io::ioctl_fionbio(&terminal, true).unwrap();
        Screen { terminal, child, shown: Vec::new() }
    }

    /// Waits until it has shown all of these; blanks are not sent, the cursor moves over them.
    fn shows(&mut self, words: &[&str]) {
        until(&format!("{words:?} are shown"), || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = rustix::io::read(&self.terminal, &mut part) {
                self.shown.extend(&part[..count]);
            }
            let shown = String::from_utf8_lossy(&self.shown);
            words.iter().all(|word| shown.contains(word))
        });
    }

    /// Waits for the end, and takes what is shown meanwhile.
    fn end(mut self) -> Option<i32> {
        let mut status = None;
        until("it has ended", || {
            let mut part = [0; 4096];
            while rustix::io::read(&self.terminal, &mut part).is_ok_and(|count| count > 0) {}
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }
}

#[test]
fn a_monitor_fills_the_terminal_and_gives_it_back() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let mut screen = Screen::start(&desk, &format!("monitor {} --interval 300ms", lease.url));
    // The alternate screen.
    screen.shows(&["\u{1b}[?1049h", "Commits", "ends"]);
    rustix::io::write(&screen.terminal, b"q").unwrap();
    screen.shows(&["\u{1b}[?1049l"]);
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn a_run_draws_its_ramp_below_the_bar_unless_it_is_to_be_plain() {
    let desk = Desk::new();
    let line =
        "run sqlite --size 0.01 --workload SRV-QUERY1 --jobs 1,2 --warmup 0 --duration 300ms";
    let mut screen = Screen::start(&desk, line);
    screen.shows(&["SRV-QUERY1, ops/s by jobs", "|=", "is stored in"]);
    assert_eq!(screen.end(), Some(0));
    let mut screen = Screen::start(&desk, &format!("{line} --no-chart"));
    screen.shows(&["is stored in"]);
    assert!(!String::from_utf8_lossy(&screen.shown).contains("ops/s by jobs"));
    assert_eq!(screen.end(), Some(0));
}
