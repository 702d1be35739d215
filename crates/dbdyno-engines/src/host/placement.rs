//! On which processors threads and processes may run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rustix::io::Errno;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use super::file;

/// Two sets of processors that have none in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halves {
    /// Kernel numbers of the CPUs of each set: as many cores in one as in the other.
    pub halves: [Vec<usize>; 2],
    /// True if the halves are threads of one core, which share more than caches.
    pub share_core: bool,
}

/// Place of a CPU: its socket and its core in it. Absent numbers make every CPU a core.
type Place = (u32, u32);

impl Halves {
    /// Of the processors that this thread may use: whole cores, those of a socket together; none if
    /// there is only one.
    pub fn here() -> Option<Halves> {
        let numbers = usable_processors().ok()?.into_iter();
        Halves::split(numbers.map(|number| (place(number), number)))
    }

    /// The same number of cores each; an odd one is left out.
    fn split(processors: impl Iterator<Item = (Place, usize)>) -> Option<Halves> {
        let mut cores: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        processors.for_each(|(place, number)| cores.entry(place).or_default().push(number));
        let share_core = cores.len() == 1;
        let parts: Vec<Vec<usize>> = match share_core {
            true => cores.into_values().flatten().map(|number| vec![number]).collect(),
            false => cores.into_values().collect(),
        };
        let half = parts.len() / 2;
        let halves = [&parts[..half], &parts[half..2 * half]].map(<[Vec<usize>]>::concat);
        (half > 0).then_some(Halves { halves, share_core })
    }
}

fn place(number: usize) -> Place {
    let of = |name: &str| {
        file(&format!("/sys/devices/system/cpu/cpu{number}/topology/{name}"))?.parse().ok()
    };
    (of("physical_package_id").unwrap_or(0), of("core_id").unwrap_or(number as u32))
}

/// Kernel numbers of the processors that the calling thread may use, ascending.
///
/// # Errors
/// The system's.
pub fn usable_processors() -> io::Result<Vec<usize>> {
    let usable = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&number| usable.is_set(number)).collect())
}

/// Keeps the calling thread, and the threads that it starts from now on, on these processors.
///
/// # Errors
/// The system's.
pub fn keep_thread_on(processors: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set(processors))?)
}

/// Keeps these processes, their threads, their children and what those start from now on, on these
/// processors.
///
/// # Errors
/// The system's; what has ended meanwhile is none.
pub fn keep_processes_on(processes: &[u32], processors: &[usize]) -> io::Result<()> {
    let (set, mut seen) = (set(processors), BTreeSet::new());
    // What is started by a thread that was kept is kept: a list that holds nothing new is complete.
    let new = |seen: &BTreeSet<u32>| -> Vec<u32> {
        let all = processes.iter().flat_map(|process| threads_and_children(*process));
        all.filter(|thread| !seen.contains(thread)).collect()
    };
    loop {
        let found = new(&seen);
        if found.is_empty() {
            return Ok(());
        }
        found.iter().try_for_each(|thread| keep_one_on(*thread, &set))?;
        seen.extend(found);
    }
}

fn keep_one_on(thread: u32, set: &CpuSet) -> io::Result<()> {
    match sched_setaffinity(i32::try_from(thread).ok().and_then(Pid::from_raw), set) {
        Err(error) if error != Errno::SRCH => Err(error.into()),
        _ => Ok(()),
    }
}

/// Threads of a process, and those of its children.
fn threads_and_children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let threads: Vec<u32> =
        tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    let of =
        |thread: &u32| file(&format!("/proc/{process}/task/{thread}/children")).unwrap_or_default();
    let children: Vec<u32> = threads
        .iter()
        .flat_map(|thread| {
            of(thread).split_whitespace().filter_map(|one| one.parse().ok()).collect::<Vec<u32>>()
        })
        .collect();
    threads.into_iter().chain(children.into_iter().flat_map(threads_and_children)).collect()
}

fn set(processors: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    processors.iter().for_each(|processor| set.set(*processor));
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(places: &[Place]) -> Option<([Vec<usize>; 2], bool)> {
        let found = Halves::split(places.iter().copied().zip(0..))?;
        Some((found.halves, found.share_core))
    }

    #[test]
    fn halves_are_whole_cores_of_a_socket_and_an_odd_core_is_left_out() {
        assert_eq!(halves(&[(0, 0), (0, 1)]), Some(([vec![0], vec![1]], false)));
        // Siblings far apart: 0 and 4 are one core.
        let siblings: Vec<Place> = (0..8).map(|number| (number % 4 / 2, number % 2)).collect();
        assert_eq!(halves(&siblings), Some(([vec![0, 4, 1, 5], vec![2, 6, 3, 7]], false)));
        assert_eq!(halves(&[(0, 0), (0, 1), (0, 2)]), Some(([vec![0], vec![1]], false)));
        assert_eq!(
            halves(&[(0, 7), (0, 7)]),
            Some(([vec![0], vec![1]], true)),
            "threads of one core"
        );
        assert_eq!(halves(&[(0, 0)]), None);
    }

    #[test]
    fn a_process_and_its_children_stay_where_they_are_put() {
        let allowed = |process: u32| {
            let status = file(&format!("/proc/{process}/status")).unwrap();
            let line =
                status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
            line.trim().to_string()
        };
        let Some(Halves { halves: [_, second], .. }) = Halves::here() else { return };
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .spawn()
            .expect("a shell is there");
        let child = loop {
            let all = threads_and_children(shell.id());
            if let [_, child] = all[..] {
                break child;
            }
        };
        keep_processes_on(&[shell.id()], &second[..1]).unwrap();
        let kept = [allowed(shell.id()), allowed(child)];
        keep_processes_on(&[child], &second).unwrap();
        drop(std::process::Command::new("kill").arg(child.to_string()).status());
        shell.wait().unwrap();
        assert_eq!(kept, [second[0].to_string(), second[0].to_string()]);
        assert!(keep_processes_on(&[child], &second).is_ok(), "one that has ended is none");
    }

    #[test]
    fn a_thread_and_those_that_it_starts_stay_on_their_half() {
        let Some(Halves { halves: [first, _], .. }) = Halves::here() else { return };
        let seen = std::thread::scope(|scope| {
            let kept = scope.spawn(|| {
                keep_thread_on(&first).unwrap();
                std::thread::spawn(|| sched_getaffinity(None).unwrap()).join().unwrap()
            });
            kept.join().unwrap()
        });
        assert_eq!((0..CpuSet::MAX_CPU).filter(|&at| seen.is_set(at)).collect::<Vec<_>>(), {
            let mut sorted = first.clone();
            sorted.sort_unstable();
            sorted
        });
    }
}
