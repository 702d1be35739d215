//! Limits of an ordinary user: threads and address space. (Open files: `sessions`.) And what a
//! server prepares no more of.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::servers::Existing;
use crate::support::{Desk, TINY, WINDOW, column, cpu_s, ended, finished, until};

/// So much of a processor takes a run until its limits were looked at and rows are loaded: the
/// first test is not over then, however busy the machine is.
const BEGUN_S: f64 = 0.3;
/// A user of nobody else's, of whom all threads count.
const USER: u32 = 61_234;

/// The command as that user, if we may choose.
fn as_user(command: &mut Command) -> &mut Command {
    if rustix::process::geteuid().is_root() { command.uid(USER).gid(USER) } else { command }
}

/// The program as that user under limits as `prlimit` takes them.
fn command_under_limits(desk: &Desk, limits: &str, line: &str) -> Command {
    let command = desk.command(line);
    // The program that was built may be where nobody else can go.
    let program = desk.path("dbdyno");
    if !program.exists() {
        // By another process: while this one has it open, no test can start it.
        let copied = Command::new("cp").arg(command.get_program()).arg(&program).status();
        assert!(copied.unwrap().success());
    }
    let mut limited = Command::new("prlimit");
    limited.arg(limits).arg(&program).args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(desk.path(""), Some(USER), Some(USER)).unwrap();
    }
    as_user(&mut limited);
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    limited
}

#[test]
fn jobs_for_which_there_are_no_threads_are_refused_before_anything_runs() {
    let desk = Desk::new();
    let line = TINY.replace("--jobs 1", "--jobs 200");
    let line = format!("run sqlite {line} --quiet");
    for (limit, words) in [
        ("--nproc=60", ["threads of this user = 60", "ulimit -u"]),
        ("--as=1073741824", ["address space = 1024 MiB", "ulimit -v"]),
    ] {
        let refused = finished(command_under_limits(&desk, limit, &line), &line);
        refused.fails(2, &["--jobs: 200 jobs are asked for", words[0], words[1]]);
    }
}

#[test]
fn a_thread_that_cannot_be_started_ends_its_test_and_keeps_nobody() {
    let desk = Desk::new();
    let line = "run sqlite --size 0.01 --workload SRV-QUERY1 --jobs 1,60 --warmup 0 --duration 3s \
         --quiet";
    let run = command_under_limits(&desk, "--nproc=600:600", line).spawn().unwrap();
    until("rows are loaded, or the first test runs", || {
        cpu_s(run.id()).is_some_and(|used_s| used_s > BEGUN_S)
    });
    // From now on there is room for few more threads than there are.
    let mut lower = Command::new("prlimit");
    lower.args(["--nproc=20:20", "--pid", &run.id().to_string()]);
    assert!(as_user(&mut lower).status().unwrap().success());
    ended(run, line).ok();
    let run = desk.run("results show last --format json").ok().json();
    assert_eq!(run["status"], "finished");
    let tests = run["tests"].as_array().unwrap();
    assert!(tests[0]["throughput"].as_f64().unwrap() > 0.0, "{:#}", tests[0]);
    let reasons = tests[1]["verdict"]["reasons"].to_string();
    assert!(reasons.contains("no further thread can be started"), "{reasons}");
}

/// Memory that is taken away while the program runs. A thread that gets no stack fails its test;
/// where the program itself gets no memory it is gone, as the system would end it. Either way
/// nobody waits, and what was measured before is stored.
#[test]
fn address_space_that_is_used_up_ends_its_test_and_loses_nothing_of_those_before() {
    let desk = Desk::new();
    let line = "run sqlite --size 0.01 --workload SRV-QUERY1 --jobs 1,200 --warmup 0 --duration 3s \
         --quiet";
    let run = command_under_limits(&desk, "--nproc=900:900", line).spawn().unwrap();
    until("rows are loaded, or the first test runs", || {
        cpu_s(run.id()).is_some_and(|used_s| used_s > BEGUN_S)
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap();
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let used_kb: u64 = used.trim().trim_end_matches(" kB").parse().unwrap();
    // Room for the stacks of some of the 200 threads.
    let limit = (used_kb + 64 * 1024) * 1024;
    let mut lower = Command::new("prlimit");
    lower.args([&format!("--as={limit}:{limit}"), "--pid", &run.id().to_string()]);
    assert!(as_user(&mut lower).status().unwrap().success());
    let done = ended(run, line);
    let run = desk.run("results show last --format json").ok().json();
    let tests = run["tests"].as_array().unwrap();
    assert!(tests[0]["throughput"].as_f64().unwrap() > 0.0, "{:#}", tests[0]);
    if done.code == Some(0) {
        let reasons = tests[1]["verdict"]["reasons"].to_string();
        assert!(run["status"] == "finished" && reasons.contains("\"failed\""), "{reasons}");
    } else {
        // The heap has none for an allocation, or the standard library none for the stack on which
        // a new thread handles an overflow of its own.
        let without_memory = ["memory allocation of ", "Cannot allocate memory"]
            .iter()
            .any(|message| done.stderr.contains(message));
        assert!(done.code.is_none() && without_memory, "{done:?}");
        assert_eq!((tests.len(), &run["status"]), (1, &"failed".into()), "{done:?}");
    }
    // What is left of it is in nobody's way.
    desk.run(&format!("run sqlite {TINY} --quiet")).ok();
}

/// By default its signal would end the program without a word.
#[test]
fn a_file_that_may_not_grow_is_an_error_in_one_line() {
    let desk = Desk::new();
    let line = format!("run sqlite {WINDOW} --quiet");
    // The rows are known before, and refused; the file of the results is found out by its writer.
    let refused = finished(command_under_limits(&desk, "--fsize=2097152:2097152", &line), &line);
    refused.fails(3, &["none of more than 2 MB (ulimit -f)"]);
    let line_without_rows = line.replace("SRV-QUERY1", "CPU-DOUBLE");
    let (desk_of_others, limit) = (Desk::new(), "--fsize=50000:50000");
    let command = command_under_limits(&desk_of_others, limit, &line_without_rows);
    finished(command, &line_without_rows).fails(3, &["the file cannot be read or written"]);
    // The limit of the process that wrote them is not that of the files.
    desk.run(&line).ok();
}

/// Found out before the run, not at its widest step.
#[test]
fn statements_that_the_server_does_not_prepare_limit_the_jobs() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    let usual = column(server.admin.as_mut(), "select @@global.max_prepared_stmt_count").remove(0);
    server.admin.execute("set global max_prepared_stmt_count = 70").unwrap();
    let refused = desk.run(&format!(
        "run {} --size 0.01 --workload TP-LIGHT --drive client --jobs 4 --quiet",
        server.admin_url()
    ));
    server.admin.execute(&format!("set global max_prepared_stmt_count = {usual}")).unwrap();
    refused.fails(2, &["4 jobs are asked for", "max_prepared_stmt_count = 70"]);
}
