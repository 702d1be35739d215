//! `overhead`: what our own loop costs per op, and its jitter.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cli::args::OverheadArgs;
use crate::cli::context::{Context, interrupt};
use crate::cli::request::check_duration;
use crate::cli::{live_table, out};
use crate::error::{Error, Result};
use crate::host::processors;
use crate::model::{Ramp, Scale};
use crate::run::overhead::{self, Overhead};

/// Measures our own loop on the null engine.
///
/// # Errors
/// A bad ramp; interrupted.
pub fn overhead(context: &Context, args: &OverheadArgs) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let refused = |what: String| Error::usage("--jobs", what).advise("give 1,2");
    let Ramp::Fixed(jobs) =
        args.jobs.on(Scale { cores: processors(), nodes: 1 }).map_err(refused)?
    else {
        return Err(refused("an automatic ramp is not supported here".into()));
    };
    check_duration(args.duration.0)?;
    let interrupt = interrupt()?;
    let mut all = Vec::new();
    for jobs in jobs {
        all.extend(overhead::overhead(jobs, args.duration.0, &interrupt)?);
    }
    if format == "json" {
        return out::json(&BTreeMap::from([(
            "overhead",
            all.iter().map(Figures::from_overhead).collect::<Vec<_>>(),
        )]));
    }
    let mut table = out::Table::new(&[
        "jobs",
        "op [ns]",
        "mean [ns]",
        "p50 [ns]",
        "p99 [ns]",
        "p99.9 [ns]",
        "max [us]",
        "ops/s",
    ]);
    for overhead in &all {
        table.row(cells(overhead));
    }
    out::print(
        "Our own loop on the null engine: ops of a known length, one random key each. The mean of \
         the",
    )?;
    out::print(
        "op of 0 ns is what our loop costs per op; percentiles of the others show the jitter of \
         this",
    )?;
    out::print("machine and of our clock. Timed ops include one reading of the clock.\n")?;
    out::print(&table.render(context.fit()))
}

fn cells(overhead: &Overhead) -> Vec<String> {
    let latency = &overhead.result.latency;
    let show = |value: Option<f64>| value.map_or("-".into(), live_table::number);
    let ns = |us: Option<f64>| show(us.map(|us| us * 1000.0));
    vec![
        overhead.jobs.to_string(),
        overhead.op_ns.to_string(),
        show(overhead.mean_ns()),
        ns(latency.p50_us),
        ns(latency.p99_us),
        ns(latency.p999_us),
        show(latency.max_us),
        live_table::number(overhead.result.ops_per_s),
    ]
}

#[derive(Serialize)]
struct Figures {
    jobs: u32,
    op_ns: u64,
    mean_ns: Option<f64>,
    cost_ns: Option<f64>,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    max_us: Option<f64>,
    ops_per_s: f64,
}

impl Figures {
    fn from_overhead(overhead: &Overhead) -> Figures {
        let latency = &overhead.result.latency;
        Figures {
            jobs: overhead.jobs,
            op_ns: overhead.op_ns,
            mean_ns: overhead.mean_ns(),
            cost_ns: overhead.cost_ns(),
            p50_us: latency.p50_us,
            p99_us: latency.p99_us,
            max_us: latency.max_us,
            ops_per_s: overhead.result.ops_per_s,
        }
    }
}
