//! Identity of the process that writes a run, so that a run whose process died is not shown as
//! running forever.

use std::fs;

/// Identifies this process beyond reuse of its number: boot id, process id, start time in clock
/// ticks since boot. Absent where the system does not tell.
pub fn this_process() -> Option<String> {
    identify(std::process::id())
}

/// True if the process that [`this_process`] described still exists on this machine.
pub fn is_alive(process: &str) -> bool {
    let pid = process.split(' ').nth(1).and_then(|pid| pid.parse().ok());
    pid.and_then(identify).as_deref() == Some(process)
}

fn identify(pid: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    // A zombie has ended; only its parent has not looked yet.
    (stat.state != 'Z').then(|| format!("{} {pid} {}", boot.trim(), stat.starttime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_a_reused_number_is_not_us() {
        let us = this_process().unwrap();
        assert!(is_alive(&us));
        assert!(!is_alive(&format!("{us}1")), "other start time");
        assert!(!is_alive("garbage"));
    }
}
