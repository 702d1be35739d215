//! Common parts of the end-to-end tests: the built program with a state directory of its own, and a
//! PostgreSQL server that they address by its URL.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use dbdyno::catalog::Catalog;
use dbdyno::engine::{self, Access, ConnectTo, Database, Session};
use dbdyno::model::Target;
use dbdyno::report::{RunTests, run_json};
use dbdyno::server::{self, StartOptions};
use dbdyno::store::Store;
use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::leftovers::Directory;
use crate::skipped::skipped;

/// The smallest measurement: some milliseconds of fixed work, for tests that look at no figure.
pub const TINY: &str = "--size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --ops 50";
/// The smallest measurement for some time.
pub const WINDOW: &str = "--size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --duration 100ms";
/// Environment variables of the tester that the program sees: how to find programs, libraries and
/// the files of new databases, where and when we are.
const PASSED_ON: [&str; 5] = ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ", "DBDYNO_SERVER_TEMPLATES"];
/// No command of these tests takes longer, also on a machine that others keep busy.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(600);
/// Tries of a test that looks into a window of less than a second, and the wait for a processor
/// that spoils one.
const CALM_TRIES: usize = 10;
const LONG_WAIT: Duration = Duration::from_millis(100);

/// A temporary directory that the user of a private server can enter.
pub fn directory() -> Directory {
    Directory::new()
}

/// The embedded catalog, which is read once for all tests of this process.
pub fn catalog() -> Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::embedded().unwrap_or_else(|error| panic!("{error}"))).clone()
}

/// Settings of a server or of an embedded engine.
pub fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Options for starting a server in this directory.
pub fn start_options(data_dir: &Path, pairs: &[(&str, &str)]) -> StartOptions {
    StartOptions { data_dir: data_dir.into(), settings: settings(pairs), ..StartOptions::default() }
}

/// A state directory that nobody else uses; the user of a private server can enter it.
pub struct Desk {
    dir: Directory,
}

impl Desk {
    pub fn new() -> Desk {
        Desk { dir: directory() }
    }

    /// One whose results file holds a run of [`WINDOW`], `nightly`: a copy of the one that the
    /// first test which needs some run measured, and which nobody changes.
    pub fn with_run() -> Desk {
        static MEASURED: OnceLock<Desk> = OnceLock::new();
        let measured = MEASURED.get_or_init(|| {
            let desk = Desk::new();
            desk.run(&format!("run {WINDOW} --quiet --name nightly")).ok();
            assert_eq!(desk.runs().len(), 1);
            desk
        });
        measured.copy()
    }

    /// Another one with a copy of the results.
    pub fn copy(&self) -> Desk {
        let copy = Desk::new();
        std::fs::copy(self.path("results.db"), copy.path("results.db")).unwrap();
        copy
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The directory of private databases.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Names in the directory of private databases.
    pub fn data_entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.data()).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The program with these arguments, separated by blanks, and none of the settings of whoever
    /// runs the tests.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dbdyno"));
        command
            .env_clear()
            .envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.args(line.split_whitespace()).stdin(Stdio::null());
        command.env("DBDYNO_HOME", self.dir.path()).env("HOME", self.dir.path());
        // What was fetched for the tests is found, whoever runs them.
        command.env("XDG_CACHE_HOME", dbdyno::host::cache_dir().parent().unwrap());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, line: &str) -> Done {
        finished(self.command(line), line)
    }

    /// Starts the program with its output piped.
    pub fn spawn(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The runs of the results file, oldest first, as `results list --format json` has them: read
    /// by the library, as tests look again and again until something is stored.
    pub fn runs(&self) -> Vec<Value> {
        let store = Store::open_to_read(&self.path("results.db")).unwrap();
        let runs = store.runs().unwrap();
        runs.iter().map(|run| serde_json::to_value(run).unwrap()).collect()
    }

    /// The same as far as a program has stored them that may not have made the file yet.
    pub fn runs_so_far(&self) -> Vec<Value> {
        if self.path("results.db").exists() { self.runs() } else { Vec::new() }
    }

    /// The file of an experiment: tests at so many jobs, each a workload and the length of its
    /// window in s.
    pub fn experiment(&self, target: &str, jobs: u32, tests: &[(&str, f64)]) -> PathBuf {
        let head = format!("target = '{target}'\nsize = 0.01\nwarmup = 0\njobs = {jobs}\n");
        let test = |(workload, duration_s): &(&str, f64)| {
            format!("[[test]]\nworkload = '{workload}'\nduration_s = {duration_s:?}\n")
        };
        let file = self.path("x.toml");
        let text = head + &tests.iter().map(test).collect::<Vec<_>>().concat();
        std::fs::write(&file, text).unwrap();
        file
    }

    /// A run of the results file with its tests, as `results show --format json` has it.
    pub fn shown(&self, which: &str) -> Value {
        let store = Store::open_to_read(&self.path("results.db")).unwrap();
        let run = store.run(which).unwrap();
        let tests = store.tests(run.id).unwrap();
        let data = RunTests::new(run, tests).ordered();
        run_json::document(&data.run, &data.tests)
    }
}

/// Runs a command to its end.
pub fn finished(command: Command, line: &str) -> Done {
    let output = assert_cmd::Command::from_std(command).timeout(TEST_TIMEOUT).output().unwrap();
    done(output, line)
}

/// Runs a program of others to its end; what it starts is ended with it if it takes too long.
pub fn finished_group(mut command: Command, line: &str) -> Done {
    use std::os::unix::process::CommandExt;
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command.spawn().unwrap_or_else(|error| panic!("{line}: {error}")), line)
}

/// Waits for the end of a program, or ends it: it, or the process group that it leads.
#[track_caller]
pub fn ended(child: Child, line: &str) -> Done {
    let pid = Pid::from_child(&child);
    let (tell_end, end) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let is_late = end.recv_timeout(TEST_TIMEOUT) == Err(RecvTimeoutError::Timeout);
        if is_late && rustix::process::kill_process_group(pid, Signal::KILL).is_err() {
            let _ = rustix::process::kill_process(pid, Signal::KILL); // it may have ended just now
        }
        is_late
    });
    let output = child.wait_with_output().unwrap();
    drop(tell_end);
    assert!(!watch.join().unwrap(), "{line}: did not end: {output:?}");
    done(output, line)
}

/// Output of a program that ended.
fn done(output: std::process::Output, line: &str) -> Done {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Done {
        line: line.into(),
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// An ended program.
#[derive(Debug)]
pub struct Done {
    line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// It ended well.
    #[track_caller]
    pub fn ok(self) -> Done {
        assert_eq!(self.code, Some(0), "{}: {self:#?}", self.line);
        self
    }

    /// It failed with this code and with exactly one line on standard error, which says all of
    /// `words`.
    #[track_caller]
    pub fn fails(self, code: i32, words: &[&str]) -> Done {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:#?}");
        assert!(self.stderr.starts_with("dbdyno: ") && self.stderr.ends_with('\n'), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "no '{word}' in {self:#?}");
        }
        self
    }

    /// Standard output is one JSON document and nothing else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Reasons that make a test of a run's JSON document invalid, but for `little`: in a window of less
/// than a second other programs and the hypervisor can cause that alone, by taking the processor
/// between two slices.
pub fn mistakes(test: &Value) -> Vec<&Value> {
    let reasons = test["verdict"]["reasons"].as_array().unwrap().iter();
    reasons.filter(|reason| reason["status"] == "invalid" && reason["code"] != "little").collect()
}

/// Codes of the reasons by which a verdict says that others took the processors: the hypervisor,
/// other programs.
pub const DISTURBED: [&str; 3] = ["steal", "foreign-load", "platform-unsteady"];

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        let waited = began.elapsed();
        assert!(waited < TEST_TIMEOUT, "waited in vain until {what}");
        std::thread::sleep(pause_after(waited));
    }
}

/// Time between two looks at what is waited for already so long: at most a tenth of that is waited
/// in vain, and whoever waits for long, on a busy machine, does not keep it busy by looking: many
/// looks open a session or read what is told of every process.
pub fn pause_after(waited: Duration) -> Duration {
    (waited / 10).clamp(Duration::from_millis(20), Duration::from_millis(200))
}

/// As [`until`], beside threads that end only when it is so: a panic would wait for them for ever.
pub fn until_or_abort(what: &str, mut so: impl FnMut() -> bool) {
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| until(what, &mut so)));
    if let Err(panic) = waited {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        // Not by a macro, whose output the test harness would keep.
        let _ = writeln!(std::io::stderr(), "waiting until {what}: {text}");
        std::process::abort();
    }
}

/// Result of `act` when no thread had to wait long for a CPU meanwhile: a window of less than a
/// second is spoilt by other programs, or by the hypervisor, when they take the processors for a
/// good part of it. Tried so often at the most; then the last one is judged as it is.
pub fn in_a_calm_moment<T>(mut act: impl FnMut() -> T) -> T {
    for _ in 1..CALM_TRIES {
        let (result, longest) = timed_waits(&mut act);
        match result {
            Ok(result) if longest < LONG_WAIT => return result,
            Err(panic) if longest < LONG_WAIT => std::panic::resume_unwind(panic),
            _ => eprintln!("tried again: a thread waited {longest:?} for a processor"),
        }
    }
    act()
}

/// Result of `act`, and the longest wait of a concurrent thread that wants to run every few
/// milliseconds.
fn timed_waits<T>(act: impl FnOnce() -> T) -> (std::thread::Result<T>, Duration) {
    const PAUSE: Duration = Duration::from_millis(5);
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let (mut longest, mut last) = (Duration::ZERO, Instant::now());
            while !has_ended.load(Ordering::Relaxed) {
                std::thread::sleep(PAUSE);
                longest = longest.max(last.elapsed().saturating_sub(PAUSE));
                last = Instant::now();
            }
            longest
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        has_ended.store(true, Ordering::Relaxed);
        (result, waits.join().unwrap())
    })
}

/// Seconds of CPU that a process has used; none if it is gone.
pub fn cpu_s(pid: u32) -> Option<f64> {
    let stat = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    Some((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
}

/// True if a process exists and has not ended.
pub fn is_alive(pid: u32) -> bool {
    // A killed process whose new parent has not asked for its end is gone too.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Command lines of all processes that mention `words`.
pub fn processes(words: &str) -> Vec<String> {
    let all = procfs::process::all_processes().unwrap().flatten();
    let lines = all.filter_map(|process| Some(process.cmdline().ok()?.join(" ")));
    lines.filter(|line| line.contains(words)).collect()
}

/// Sends a signal to a process that the test started.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A session on the server at `url`, without a password.
pub fn session(url: &str) -> Box<dyn Session> {
    try_session(url).unwrap()
}

/// A session on the server at `url`, if it can be had.
pub fn try_session(url: &str) -> Option<Box<dyn Session>> {
    try_session_of("postgres", url)
}

/// A session on the server of this engine at `url`, if it can be had.
pub fn try_session_of(engine: &str, url: &str) -> Option<Box<dyn Session>> {
    open(engine, url)?.session().ok().map(|session| as_of_a_client(engine, session))
}

fn open(engine: &str, url: &str) -> Option<Box<dyn Database>> {
    let target = Target::Existing { engine: engine.into(), url: url.into() };
    let to = ConnectTo { url: Some(url.into()), ..ConnectTo::new(target) };
    // As one that only looks: whatever the database holds under our names.
    engine::find(engine).unwrap().open(&to, Access::Watch).ok()
}

/// A session as an administrator's own client has it: names without a schema are looked for in the
/// schema public, too, which sessions of dbdyno do not do.
fn as_of_a_client(engine: &str, mut session: Box<dyn Session>) -> Box<dyn Session> {
    if engine == "postgres" {
        session.execute("set search_path = \"$user\", public").unwrap();
    }
    session
}

/// The first column of a query's rows.
pub fn column(session: &mut dyn Session, sql: &str) -> Vec<String> {
    let rows = session.query(sql, &[]).unwrap();
    rows.rows.into_iter().map(|row| row.into_iter().next().flatten().unwrap_or_default()).collect()
}

/// A TCP port that nobody listens on.
pub fn free_port() -> u16 {
    /// Below those that the system gives to clients, whose connections come and go.
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 12_000;
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Other processes of tests begin elsewhere.
    let begin = std::process::id().wrapping_mul(97);
    loop {
        let taken = TAKEN.fetch_add(1, Ordering::Relaxed);
        assert!(taken < COUNT, "no port is free");
        let port = FIRST + begin.wrapping_add(taken) % COUNT;
        let port = u16::try_from(port).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A kind of private server, as the tests that run on every kind need it.
#[derive(Debug, Clone, Copy)]
pub struct Private {
    pub engine: &'static str,
    /// File with its process id, within the directory of private databases.
    pub pid_file: &'static str,
    /// URL of the one in this directory, `{}` for the directory.
    url: &'static str,
    /// File that grows within the directory of private databases when rows are loaded, and its
    /// megabytes when empty.
    tables: (&'static str, u64),
    /// Counts the jobs of SRV-QUERY1 that run in it, for a while already.
    busy: &'static str,
    /// Options after the hint on how to connect, to run a statement and print nothing but its
    /// result.
    pub client_options: &'static [&'static str],
    /// Ends it at once.
    pub hard_stop: Signal,
    /// Messages of a load when the disk gets full. PostgreSQL's words depend on what needs the
    /// space first: for its log it ends itself.
    pub full_disk: &'static [&'static str],
}

/// Every kind of private server.
pub const PRIVATE: [Private; 2] = [
    Private {
        engine: "postgres",
        pid_file: "dbdyno-postgres/data/postmaster.pid",
        url: "postgres://dbdyno@/postgres?host={}/dbdyno-postgres/socket&port=5432",
        tables: ("dbdyno-postgres/data/base", 30),
        busy: "select count(*) from pg_stat_activity where state = 'active' and pid <> \
               pg_backend_pid() and query like '%w_srv_query1%' and now() - query_start > interval \
               '300 ms'",
        client_options: &["-X", "-A", "-t", "-c"],
        hard_stop: Signal::QUIT,
        full_disk: &[],
    },
    Private {
        engine: "mariadb",
        pid_file: "dbdyno-mariadb/data/mariadb.pid",
        url: "mariadb://dbdyno@/?socket={}/dbdyno-mariadb/socket/mariadb.sock&auth=none",
        tables: ("dbdyno-mariadb/data/dbdyno", 1),
        // A statement within the routine is shown with its own text and the time of the whole call.
        busy: "select count(*) from information_schema.processlist where user = 'dbdyno' and id <> \
               connection_id() and time_ms > 300 and info like 'select%small%' and info not like \
               '%sum(%' and info not like '%force index%'",
        client_options: &["-N", "-B", "-e"],
        hard_stop: Signal::KILL,
        full_disk: &["disk is full", "dbdyno.big", "--size"],
    },
];

impl Private {
    /// URL of the private server that the program runs under `data_dir`.
    pub fn url(&self, data_dir: &Path) -> String {
        self.url.replace("{}", &data_dir.display().to_string())
    }

    /// True while a job of SRV-QUERY1 runs in the private server of a desk.
    pub fn a_job_runs(&self, desk: &Desk) -> bool {
        let session = try_session_of(self.engine, &self.url(&desk.data()));
        session.is_some_and(|mut session| column(session.as_mut(), self.busy) == ["1"])
    }

    /// True when some rows have been loaded into the private server under `data_dir`.
    pub fn rows_are_loaded(&self, data_dir: &Path) -> bool {
        let (tables, empty_mb) = self.tables;
        bytes_in(&data_dir.join(tables)) > (empty_mb + 5) * 1_000_000
    }

    /// Its process id.
    pub fn pid(&self, desk: &Desk) -> u32 {
        let note = std::fs::read_to_string(desk.data().join(self.pid_file)).unwrap();
        note.lines().next().unwrap().trim().parse().unwrap()
    }
}

/// Size of the files in a directory and below.
pub fn bytes_in(dir: &Path) -> u64 {
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_in(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    std::fs::read_dir(dir).into_iter().flatten().flatten().map(size).sum()
}

/// Validates a document of `run --format json`.
#[track_caller]
pub fn assert_run_schema(document: &Value) {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema/run.schema.json");
        let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// The servers of an engine that the tests run on: the installed one (none named), and another
/// generation, fetched.
pub fn servers(engine: &str) -> Vec<Option<PathBuf>> {
    if let Some(why) = lacks_library(engine) {
        skipped("CHDB", why);
        return Vec::new();
    }
    let other = match engine {
        "postgres" => Some(newest_postgres()),
        // There are public binaries for this platform only.
        "mariadb" => (std::env::consts::ARCH == "x86_64").then(other_mariadb),
        _ => None,
    };
    std::iter::once(None).chain(other.map(Some)).collect()
}

/// Reason why the library of an engine cannot be loaded here, of one that has none for each
/// platform.
pub fn lacks_library(engine: &str) -> Option<String> {
    let library = dbdyno::engine::find(engine).filter(|_| engine == "chdb")?.library()?;
    library.version(None).err().map(|error| error.to_string())
}

/// The turn of an engine whose library has one database in a process: as long as it is held, no
/// other test of this process has one open.
pub fn turn(engine: &str) -> Option<MutexGuard<'static, ()>> {
    static OPEN: Mutex<()> = Mutex::new(());
    (engine == "chdb").then(|| OPEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The programs of the newest PostgreSQL, which `scripts/test-dependencies.sh` fetches; fetched
/// here if it has not.
pub fn newest_postgres() -> PathBuf {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| fetched("postgres", None)).clone()
}

/// The programs of another MariaDB than the distribution's, fetched likewise.
fn other_mariadb() -> PathBuf {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| fetched("mariadb", None)).clone()
}

/// The programs of the last PostgreSQL whose counters are collected by a process and lag behind,
/// fetched likewise.
pub fn postgres_with_collector() -> PathBuf {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| fetched("postgres", Some("14.18.0"))).clone()
}

fn fetched(engine: &str, version: Option<&str>) -> PathBuf {
    server::fetch(engine, version).unwrap_or_else(|error| panic!("{error}")).dir
}

/// The script of axe-core, which `scripts/test-dependencies.sh` fetches by the user's own npm.
pub fn axe() -> String {
    let script = dbdyno::host::cache_dir().join("axe-core").join("axe.min.js");
    if !script.exists() {
        let fetched = std::process::Command::new("sh")
            .args(["scripts/test-dependencies.sh", "--axe"])
            .status();
        assert!(
            fetched.is_ok_and(|status| status.success()),
            "axe-core: run scripts/test-dependencies.sh"
        );
    }
    std::fs::read_to_string(&script).unwrap_or_else(|error| panic!("{}: {error}", script.display()))
}
