//! CPU time of programs that are neither the database's nor ours.

use dbdyno_core::model::Counters;

use super::process::{KernelThreads, ServerCpu};
use super::{Probe, ProbeContext};

struct Foreign {
    kernel: Option<KernelThreads>,
    in_process: bool,
    /// A server that works beside it for us.
    beside: Option<ServerCpu>,
}

/// The probe, where the database's processes are known or the database runs in our own. It goes
/// after those that it reckons with.
pub(super) fn open(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let in_process = context.in_process;
    let known = in_process || !context.server_pids.is_empty();
    let beside = ServerCpu::open(context.concurrent_pids);
    known.then(|| {
        Box::new(Foreign { kernel: KernelThreads::open(), in_process, beside }) as Box<dyn Probe>
    })
}

impl Probe for Foreign {
    fn name(&self) -> &'static str {
        "foreign"
    }
    /// Reads nothing where a figure of another probe is missing: that probe has reported its
    /// failure.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let kernel_s = self.kernel.as_mut().map(KernelThreads::cpu_s);
        let beside = match &mut self.beside {
            None => Counters::default(),
            Some(server) => {
                let mut beside = Counters::default();
                server.read(&mut beside)?;
                beside
            }
        };
        if let Some(foreign_s) = foreign_s(counters, &beside, self.in_process, kernel_s) {
            counters.set("os_cpu_foreign_s", foreign_s);
        }
        Ok(())
    }
}

/// CPU time of all processes less what the database, a server of ours `beside` it and we used. In
/// system mode the kernel's own threads are left out too; where they cannot be told apart only user
/// mode counts. Interrupts are nobody's.
fn foreign_s(
    counters: &Counters,
    beside: &Counters,
    in_process: bool,
    kernel_s: Option<f64>,
) -> Option<f64> {
    let left = |all: f64, mode: &str| {
        let own = counters.get(&format!("self_cpu_{mode}_s"))?;
        let server =
            if in_process { 0.0 } else { counters.get(&format!("server_cpu_{mode}_s"))? };
        Some(all - own - server - beside.get(&format!("server_cpu_{mode}_s")).unwrap_or(0.0))
    };
    let user = left(counters.get("os_cpu_user_s")? + counters.get("os_cpu_nice_s")?, "user")?;
    let sys = left(counters.get("os_cpu_sys_s")?, "sys")?;
    Some(user + kernel_s.map_or(0.0, |kernel_s| sys - kernel_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> Counters {
        let all = [
            ("user", 50.0),
            ("nice", 4.0),
            ("sys", 20.0),
            ("irq", 1.0),
            ("softirq", 2.0),
            ("idle", 7.0),
        ];
        let all = all.map(|(mode, s)| (format!("os_cpu_{mode}_s"), s)).into_iter();
        let processes = [
            ("self", "user", 3.0),
            ("self", "sys", 1.0),
            ("server", "user", 30.0),
            ("server", "sys", 9.0),
        ];
        let processes = processes.map(|(whose, mode, s)| (format!("{whose}_cpu_{mode}_s"), s));
        Counters(all.chain(processes).collect())
    }

    #[test]
    fn foreign_is_what_neither_the_database_nor_we_nor_the_kernels_threads_used() {
        let none = Counters::default();
        // User 54 - 33, system 20 - 10 - 6.
        assert_eq!(foreign_s(&counters(), &none, false, Some(6.0)), Some(25.0));
        assert_eq!(
            foreign_s(&counters(), &none, false, None),
            Some(21.0),
            "the kernel's threads work in system mode"
        );
        assert_eq!(
            foreign_s(&counters(), &none, true, Some(6.0)),
            Some(64.0),
            "a database in our process has no other"
        );
        let beside = Counters(
            [("server_cpu_user_s", 4.0), ("server_cpu_sys_s", 1.0)]
                .map(|(name, s)| (name.into(), s))
                .into(),
        );
        assert_eq!(
            foreign_s(&counters(), &beside, false, Some(6.0)),
            Some(20.0),
            "the other side's server is ours"
        );
    }

    #[test]
    fn nothing_is_said_of_a_server_that_cannot_be_seen() {
        let mut hidden = counters();
        hidden.0.retain(|name, _| !name.starts_with("server_"));
        assert_eq!(foreign_s(&hidden, &Counters::default(), false, Some(6.0)), None);
        assert!(open(&ProbeContext::default()).is_none());
        assert!(open(&ProbeContext { in_process: true, ..ProbeContext::default() }).is_some());
    }
}
