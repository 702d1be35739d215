//! Calls of the server's threads in the kernel, and the state of a session that follows from the
//! call of its thread.

use std::fs;

use dbdyno_core::model::{Activity, SessionState};

use super::row::{Row, state_at};

/// Text of the kernel for a thread that is on a CPU or in the run queue.
const RUNNING: &str = "running";
/// Own text for a thread that waited in a call which ended before the kernel could report it.
const WAITED: &str = "waited";
/// Maximum number of attempts to read the call of a waiting thread.
const MAX_READS: u32 = 3;

/// Call of a thread of the server: [`RUNNING`], [`WAITED`], or the kernel's line about the call;
/// none if it may not be read. The state of the thread is read first: the kernel cannot report the
/// call of a short wait that ends meanwhile and says `running`, so that the shortest waits would
/// count as work.
pub(super) fn read_call(server: u32, thread: u32) -> Option<String> {
    let task = format!("/proc/{server}/task/{thread}");
    if thread_state(&fs::read_to_string(format!("{task}/stat")).ok()?)? == 'R' {
        return Some(RUNNING.into());
    }
    for _ in 0..MAX_READS {
        let line = fs::read_to_string(format!("{task}/syscall")).ok()?;
        if line.trim_end() != RUNNING {
            return Some(line);
        }
    }
    Some(WAITED.into())
}

/// Name of the file that a call of the server is about: its first argument is the descriptor.
pub(super) fn file_name(server: u32, call: &str) -> Option<String> {
    let number = call.split_whitespace().nth(1)?.strip_prefix("0x")?;
    let number = u32::from_str_radix(number, 16).ok()?;
    let path = fs::read_link(format!("/proc/{server}/fd/{number}")).ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// State of a thread by its line in `/proc/pid/task/tid/stat`: the letter after the name, which is
/// in brackets and may hold any character.
pub(super) fn thread_state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Call of a thread in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// On a CPU or in the run queue.
    None,
    /// Waits for its client.
    Receive,
    Send,
    Read(&'static str),
    Write(&'static str),
    Sync(&'static str),
    /// Waits for another thread.
    Futex,
    /// Waited in an unknown call.
    Unknown,
    Other,
}

impl Call {
    /// Parses [`RUNNING`], [`WAITED`] or the line of a call, which begins with its number (-1
    /// outside of calls, as in a page fault).
    pub(super) fn parse(text: &str) -> Option<Call> {
        match text.split_whitespace().next()? {
            RUNNING => Some(Call::None),
            WAITED => Some(Call::Unknown),
            number => Some(Call::from_number(number.parse().ok()?)),
        }
    }

    fn from_number(number: libc::c_long) -> Call {
        match number {
            libc::SYS_ppoll | libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_epoll_pwait => {
                Call::Receive
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll | libc::SYS_epoll_wait => Call::Receive,
            libc::SYS_sendto | libc::SYS_sendmsg => Call::Send,
            libc::SYS_pread64 | libc::SYS_preadv => Call::Read("pread"),
            libc::SYS_read => Call::Read("read"),
            libc::SYS_io_getevents | libc::SYS_io_uring_enter => Call::Read("asynchronous I/O"),
            libc::SYS_pwrite64 | libc::SYS_pwritev => Call::Write("pwrite"),
            libc::SYS_write => Call::Write("write"),
            libc::SYS_fsync => Call::Sync("fsync"),
            libc::SYS_fdatasync => Call::Sync("fdatasync"),
            libc::SYS_futex => Call::Futex,
            _ => Call::Other,
        }
    }

    /// True if the call alone decides the state of the session, without a question to the server.
    pub(super) fn is_conclusive(self) -> bool {
        !matches!(self, Call::Futex | Call::Unknown | Call::Other)
    }
}

/// Decides by a thread's call in the kernel whether its session works or waits. The row is from a
/// moment later: a stage only counts as waiting for a latch if the thread `stood` in one call
/// meanwhile. `file` gives the name of the file that the call is about.
pub(super) fn state_by_call(
    row: Row,
    call: Call,
    stood: bool,
    file: &dyn Fn() -> String,
    log_file: &str,
) -> SessionState {
    let background = row.id.is_none();
    let io = |name: &str, of_data: Activity| {
        let file = file();
        let is_log = !log_file.is_empty() && file.starts_with(log_file);
        state_at(
            "IO",
            format!("{name} {file}").trim(),
            if is_log { Activity::LogSync } else { of_data },
            background,
        )
    };
    // A session that waited for a row when the server was asked counts as waiting, whatever its
    // thread has done since.
    if row.activity == Some(Activity::RowLock) {
        return state_at(row.class, row.event, Activity::RowLock, background);
    }
    match call {
        Call::Receive => SessionState::Idle,
        Call::Unknown if row.idle => SessionState::Idle,
        Call::Unknown => {
            state_at(row.class, row.event, row.activity.unwrap_or(Activity::Other), background)
        }
        Call::None => state_at("CPU", "CPU", Activity::Cpu, background),
        Call::Send => state_at("Network", "send", Activity::Network, background),
        Call::Read(name) => io(name, Activity::DataRead),
        Call::Write(name) => io(name, Activity::DataWrite),
        Call::Sync(name) => io(name, Activity::DataWrite),
        Call::Futex if !row.idle && row.activity.is_some() => {
            state_at(row.class, row.event, row.activity.unwrap_or(Activity::Other), background)
        }
        Call::Futex if !row.idle && stood => {
            state_at("Mutex", row.event, Activity::Latch, background)
        }
        Call::Futex => state_at("Wait", "futex", Activity::Other, background),
        Call::Other => state_at("Other", "syscall", Activity::Other, background),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_whether_a_stage_works_or_waits() {
        let row = |activity: Option<Activity>, idle: bool| Row {
            id: Some(1),
            idle,
            class: "Commit".into(),
            event: "Commit".into(),
            activity,
            thread: Some(1),
            keeps_thread: true,
            process: None,
        };
        let seen = |activity, idle, stood, number: libc::c_long, file: &'static str| {
            let call = Call::parse(&format!("{number} 0x5 0x1")).unwrap();
            match state_by_call(row(activity, idle), call, stood, &|| file.to_string(), "ib_log") {
                SessionState::At(event) => Some(event.activity),
                SessionState::Idle => None,
            }
        };
        let (commit, futex) = (Some(Activity::LogSync), libc::SYS_futex);
        assert_eq!(seen(commit, false, true, futex, ""), commit);
        assert_eq!(seen(None, false, true, futex, ""), Some(Activity::Latch));
        // A thread that waits now may have done something else when the server was asked.
        assert_eq!(seen(None, false, false, futex, ""), Some(Activity::Other));
        let row_lock = Some(Activity::RowLock);
        assert_eq!(seen(row_lock, false, false, libc::SYS_ppoll, ""), row_lock);
        assert_eq!(seen(commit, true, true, futex, ""), Some(Activity::Other));
        assert_eq!(seen(None, false, false, libc::SYS_fdatasync, "ib_logfile0"), commit);
        assert_eq!(
            seen(commit, false, false, libc::SYS_pwrite64, "big.ibd"),
            Some(Activity::DataWrite)
        );
        assert_eq!(
            seen(None, false, false, libc::SYS_pread64, "big.ibd"),
            Some(Activity::DataRead)
        );
        assert_eq!(seen(None, false, false, libc::SYS_ppoll, ""), None);
        assert_eq!(Call::parse("running\n"), Some(Call::None));
        assert_eq!(Call::parse(WAITED), Some(Call::Unknown));
        assert_eq!(thread_state("12 (a) R (b) D 1 2"), Some('D'));
        assert_eq!(Call::parse("-1 0x7ffc 0x7f00"), Some(Call::Other));
    }
}
