//! Instructions that our own process executes in user mode, where the kernel lets us count them:
//! perf_event_open(2). What an op takes of them moves less with neighbors, caches and clock rates
//! than its CPU time.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, RawFd};

use dbdyno_core::model::Counters;

use super::{Probe, ProbeContext};

/// Name of the counter.
const COUNTER: &str = "self_instructions";

/// An event that the kernel is to count.
#[derive(Clone, Copy)]
enum Event {
    /// `PERF_COUNT_HW_INSTRUCTIONS`, of the processor.
    Instructions,
    /// `PERF_COUNT_SW_TASK_CLOCK`: CPU time in ns, which every kernel counts.
    #[cfg(test)]
    TaskClock,
}

impl Event {
    /// Type and number of the event in `linux/perf_event.h`.
    fn codes(self) -> (u32, u64) {
        match self {
            Event::Instructions => (0, 1),
            #[cfg(test)]
            Event::TaskClock => (1, 1),
        }
    }
}

/// `struct perf_event_attr` in its first published size, which every kernel takes; what we do not
/// set is 0.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    event: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config: u64,
}

/// Bits of `flags`: threads that are started from now on count, too; the kernel and the hypervisor
/// do not.
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Bits of `read_format`: time since it was opened, and time in which it counted.
const TOTAL_TIMES: u64 = 0b11;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// A count of the thread that opens it and of all threads that it starts afterwards.
struct Count(File);

impl Count {
    fn open(event: Event) -> io::Result<Count> {
        let (kind, number) = event.codes();
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            event: number,
            read_format: TOTAL_TIMES,
            flags: INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        let (own_thread, any_processor, no_group): (libc::pid_t, libc::c_int, RawFd) = (0, -1, -1);
        // SAFETY: the kernel reads `attributes`, whose size stands in it and which lives longer
        // than the call; the other arguments are numbers.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                own_thread,
                any_processor,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        let descriptor = RawFd::try_from(opened).unwrap_or(-1);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made the descriptor for us, and nobody else knows it.
        Ok(Count(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// The count so far; an estimate where the processor counted other events in turns with it.
    fn read(&mut self) -> io::Result<f64> {
        let mut bytes = [0; 24];
        self.0.read_exact(&mut bytes)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let [count, enabled, running] = [0, 1, 2].map(|at| u64::from_ne_bytes(numbers[at]) as f64);
        if running == 0.0 && enabled > 0.0 {
            return Err(io::Error::other("the processor counts other events"));
        }
        Ok(count * if running > 0.0 { enabled / running } else { 1.0 })
    }
}

struct Instructions(Count);

/// The instructions of the thread that opens the probe and of the threads that it starts, as are
/// those of jobs; none where they cannot be counted, which [`client_instructions`] says.
pub(super) fn open(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let count = Count::open(Event::Instructions).ok()?;
    Some(Box::new(Instructions(count)))
}

/// State of counting the client's instructions here, for the disclosure: `counted`, or why not.
pub fn client_instructions() -> String {
    match Count::open(Event::Instructions) {
        Ok(_) => "counted".into(),
        Err(error) => format!("not available: {error}"),
    }
}

impl Probe for Instructions {
    fn name(&self) -> &'static str {
        "instructions"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        counters.set(COUNTER, self.0.read().map_err(|error| error.to_string())?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::thread_cpu_s;

    /// Executes this many steps that no compiler removes.
    fn work(steps: u64) -> u64 {
        (0..steps).fold(1, |state, step| std::hint::black_box(state ^ step.wrapping_mul(state)))
    }

    #[test]
    fn a_count_grows_with_the_work_of_threads_that_are_started_later() {
        assert_eq!(size_of::<Attributes>(), 64, "PERF_ATTR_SIZE_VER0");
        // The CPU time, as not every machine lets us count instructions. A container may forbid
        // both.
        let mut count = match Count::open(Event::TaskClock) {
            Ok(count) => count,
            Err(error) => {
                assert!(
                    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)),
                    "{error}"
                );
                return;
            }
        };
        let before = count.read().unwrap();
        let spent = std::thread::spawn(|| {
            work(5_000_000);
            thread_cpu_s() * 1e9
        });
        let spent = spent.join().unwrap();
        let grown = count.read().unwrap() - before;
        // What the thread itself counted is in it; the start of the thread and we are, too.
        assert!(spent > 0.0 && grown >= 0.9 * spent, "{grown} ns of {spent}");
    }

    #[test]
    fn instructions_are_counted_or_the_disclosure_says_why_not() {
        let said = client_instructions();
        let Some(mut probe) = open(&ProbeContext::default()) else {
            assert!(said.starts_with("not available: "), "{said}");
            return;
        };
        assert_eq!(said, "counted");
        let mut read = || {
            let mut counters = Counters::default();
            probe.read(&mut counters).unwrap();
            counters.get(COUNTER).unwrap()
        };
        let before = read();
        std::thread::spawn(|| work(1_000_000)).join().unwrap();
        assert!(read() - before > 1_000_000.0);
    }
}
