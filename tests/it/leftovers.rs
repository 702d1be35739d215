//! Directories of tests, and the end of what lives in one: with its test, also after a panic; with
//! the test process, however that ends (abort, Ctrl-C, kill), by a process that watches over it.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::process::{Pid, Signal};

use crate::support::{TEST_TIMEOUT, ended, is_alive, pause_after, signal, until};

/// The test that is also the processes of this module, each named by a variable of its environment.
const SELF: &str = "leftovers::what_a_test_leaves_ends_with_it_however_it_ends";

/// Names the directory of all directories to the process that watches.
const WATCHED: &str = "DBDYNO_TEST_WATCHED";
/// File systems in memory: nothing can be put out of the system's cache there, and no device reads.
const IN_MEMORY: [u64; 2] = [/* tmpfs */ 0x0102_1994, /* ramfs */ 0x8584_58f6];
/// Time after which a process that was asked to end is killed.
const HARD_AFTER: Duration = Duration::from_secs(10);

/// A temporary directory of a test. When dropped it is removed, with all processes that live in it:
/// it is a failure of the test if there are any.
pub struct Directory {
    dir: tempfile::TempDir,
    /// Processes that were there before it, which no argument and no variable can have told of it.
    older: BTreeSet<i32>,
}

impl Directory {
    /// One that the user of a private server can enter: on a disk, unless TMPDIR says otherwise.
    pub fn new() -> Directory {
        let dir = tempfile::tempdir_in(root()).unwrap();
        open_to_all(dir.path());
        Directory { dir, older: process_ids().collect() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let is_failed = std::thread::panicking();
        let is_child = std::env::var_os(END).is_some();
        // Processes of a server that has stopped take their time to end on a busy machine.
        let grace = if is_failed || is_child { Duration::ZERO } else { TEST_TIMEOUT };
        let left = end_all(self.path(), &self.older, grace);
        assert!(
            is_failed || left.is_empty(),
            "the test left processes, which were ended: {left:#?}"
        );
    }
}

/// Root of all directories of this test process, which is guarded from now on.
fn root() -> &'static Path {
    static ROOT: OnceLock<(PathBuf, Child)> = OnceLock::new();
    let (root, _) = ROOT.get_or_init(|| {
        let root = tempfile::Builder::new()
            .prefix("dbdyno-it-")
            .tempdir_in(temporary_files())
            .unwrap()
            .keep();
        open_to_all(&root);
        spread(&root);
        let watcher = watch_over(&root);
        (root, watcher)
    });
    root
}

/// Lets ext4 place each directory of a test in a part of the disk of its own (FS_TOPDIR_FL). In the
/// same part it would search all numbers of files that were removed in the last minutes for each
/// file that it makes (`recently_deleted()` in fs/ext4/ialloc.c), and the data of a server are a
/// thousand files: that took a sixth of the processor time of all tests. Other file systems know no
/// such flag.
fn spread(dir: &Path) {
    let opened = std::fs::File::open(dir).unwrap();
    if let Ok(flags) = rustix::fs::ioctl_getflags(&opened) {
        let _ = rustix::fs::ioctl_setflags(&opened, flags | rustix::fs::IFlags::TOPDIR);
    }
}

fn open_to_all(dir: &Path) {
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Directory of temporary files: /tmp is in memory on many systems, /var/tmp on none.
fn temporary_files() -> PathBuf {
    let chosen = std::env::temp_dir();
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if is_chosen || !is_in_memory(&chosen) { chosen } else { "/var/tmp".into() }
}

fn is_in_memory(path: &Path) -> bool {
    // The type differs between architectures.
    #[allow(clippy::unnecessary_cast)]
    rustix::fs::statfs(path).is_ok_and(|system| IN_MEMORY.contains(&(system.f_type as u64)))
}

/// Starts the process that ends what we leave. Its standard input is open as long as we live.
fn watch_over(root: &Path) -> Child {
    let mut watcher = Command::new(std::env::current_exe().unwrap());
    watcher.args(["--exact", SELF, "--nocapture"]).env(WATCHED, root).env_remove(END);
    // In a group of its own: Ctrl-C is for us.
    watcher.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// The process that ends and removes what the tests left, when they have ended in any way.
fn clean_up_after_the_tests(root: &Path) {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    end_all(root, &BTreeSet::new(), Duration::ZERO);
    for mount in Process::myself().and_then(|own| own.mountinfo()).into_iter().flatten() {
        if mount.mount_point.starts_with(root) {
            let _ = Command::new("umount").arg("--lazy").arg(&mount.mount_point).status();
        }
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// Ends the processes that live in a directory and do not end by themselves in time; their command
/// lines.
fn end_all(dir: &Path, older: &BTreeSet<i32>, grace: Duration) -> Vec<String> {
    let began = Instant::now();
    let left: Vec<String> = loop {
        let living = inhabitants(dir, older);
        if living.is_empty() {
            return Vec::new();
        }
        if began.elapsed() >= grace {
            break living.iter().map(line).collect();
        }
        std::thread::sleep(pause_after(began.elapsed()));
    };
    let hard_from = Instant::now() + HARD_AFTER;
    until("what lives in the directory has ended", || {
        let living = inhabitants(dir, older);
        living.iter().for_each(|process| end(process, Instant::now() > hard_from));
        living.is_empty()
    });
    left
}

/// At once. PostgreSQL would leave shared memory of the system's behind: it has a signal of its own
/// for that.
fn end(process: &Process, hard: bool) {
    let signal =
        if !hard && line(process).contains("postgres") { Signal::QUIT } else { Signal::KILL };
    // it may have ended
    let _ = Pid::from_raw(process.pid).map(|pid| rustix::process::kill_process(pid, signal));
}

fn line(process: &Process) -> String {
    format!("{} {}", process.pid, process.cmdline().unwrap_or_default().join(" "))
}

/// Ids of all processes.
fn process_ids() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Other processes that work in a directory, or whose arguments or environment name it. Every test
/// looks, some of them often, and there are hundreds of processes: what is older than the directory
/// is only asked where it works, in case its id is another process's by now.
fn inhabitants(dir: &Path, older: &BTreeSet<i32>) -> Vec<Process> {
    let own = i32::try_from(std::process::id()).unwrap();
    let others = process_ids().filter(|id| *id != own);
    let inhabitants =
        others.filter(|id| works_in(*id, dir) || !older.contains(id) && is_told_of(*id, dir));
    inhabitants.filter_map(|id| Process::new(id).ok()).collect()
}

fn works_in(id: i32, dir: &Path) -> bool {
    std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
}

/// True if the arguments or the environment of a process name a directory.
fn is_told_of(id: i32, dir: &Path) -> bool {
    let name = dir.to_str().unwrap();
    let names_it = |file: &str| {
        let bytes = std::fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(name)
    };
    names_it("cmdline") || names_it("environ")
}

/// Ways in which the process of a test ends that leaves another one behind.
const ENDS: [&str; 4] = ["returns", "panics", "aborts", "is terminated"];
/// Names one of them, and the file for the process id of what is left.
const END: &str = "DBDYNO_TEST_END";
const NOTE: &str = "DBDYNO_TEST_NOTE";

/// The process of a test that leaves another one behind, noted in the file `note`.
fn leave_a_process(how: &str, note: &Path) {
    let dir = Directory::new();
    let mut left = Command::new("sh");
    left.args(["-c", "sleep 1000 > /dev/null 2>&1 & echo $!"])
        .current_dir(dir.path())
        .process_group(0);
    let id = String::from_utf8(left.output().unwrap().stdout).unwrap();
    std::fs::write(note, format!("{} {}\n", id.trim(), dir.path().display())).unwrap();
    match how {
        "returns" => {}
        "panics" => panic!("as it was told"),
        "aborts" => std::process::abort(),
        _ => std::thread::sleep(Duration::from_secs(1000)),
    }
}

#[test]
fn what_a_test_leaves_ends_with_it_however_it_ends() {
    if let Some(root) = std::env::var_os(WATCHED) {
        return clean_up_after_the_tests(Path::new(&root));
    }
    if let (Ok(how), Some(note)) = (std::env::var(END), std::env::var_os(NOTE)) {
        return leave_a_process(&how, Path::new(&note));
    }
    let dir = Directory::new();
    for how in ENDS {
        let note = dir.path().join(how);
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", SELF]).env(END, how).env(NOTE, &note);
        let test = test.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let noted = || std::fs::read_to_string(&note).ok().filter(|text| text.ends_with('\n'));
        until("the process is there", || noted().is_some());
        if how == "is terminated" {
            // Not by Ctrl-C's signal, which whoever runs the tests may have us ignore.
            signal(test.id(), Signal::TERM);
        }
        let done = ended(test, how);
        assert_ne!(done.code, Some(0), "{done:#?}");
        assert_eq!(how == "returns", done.stdout.contains("the test left processes"), "{done:#?}");
        let text = noted().unwrap();
        let (id, home) = text.trim().split_once(' ').unwrap();
        until("it has ended", || !is_alive(id.parse().unwrap()));
        until("its directory is gone", || !Path::new(home).parent().unwrap().exists());
    }
}
