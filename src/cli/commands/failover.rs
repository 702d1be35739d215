//! `failover`: a node of a cluster fails under load, then the report.

use super::study::{self, Shown};
use super::{ending, report};
use crate::catalog::Catalog;
use crate::cli::args::{FailoverArgs, HowArg, RunArgs, TargetArgs};
use crate::cli::console::Console;
use crate::cli::context::Context;
use crate::cli::measuring::Measuring;
use crate::cli::{file, request};
use crate::error::{Error, Result};
use crate::model::{How, Target};
use crate::report::failover::FailoverReport;
use crate::run::failover::{self, Commands, FailoverOptions};
use crate::run::{Request, RunEnd};

/// Shortest load before a failure: of a second or two a median is one.
const MIN_BEFORE_S: f64 = 1.0;
/// Shortest timeout: a commit may take as long on a busy machine.
const MIN_TIMEOUT_S: f64 = 0.05;

/// Measures, stores, prints or writes the report.
///
/// # Errors
/// Usage, target, interrupted; the report is shown before of what was measured.
pub fn failover(context: &Context, args: &FailoverArgs) -> Result<()> {
    let output = args.out.output.as_deref();
    let format = report::form(context, &FailoverReport, output)?;
    if let Some(path) = output {
        file::refuse_results(context, path)?;
        file::check_parent(path)?;
    }
    let catalog = context.catalog()?;
    let request = request_of(&catalog, args)?;
    let options = failover_options(&request.target, args)?;
    let ended = measure(context, &catalog, &request, &options)?;
    let shown = Shown { report: &FailoverReport, format, out: &args.out };
    study::show_results(context, &shown, catalog, &ended)?;
    ending::check_run(&request.target.label(), &ended)
}

fn request_of(catalog: &Catalog, args: &FailoverArgs) -> Result<Request> {
    let target = TargetArgs { place: args.place.clone(), ..TargetArgs::default() };
    let mut request = request::of_run(
        catalog,
        &RunArgs { target, naming: args.naming.clone(), ..RunArgs::default() },
    )?;
    match &mut request.target {
        Target::Private { cluster: Some(cluster), .. } => {
            cluster.nodes = args.nodes.unwrap_or(cluster.nodes)
        }
        Target::Existing { .. } if args.nodes.is_some() => {
            return Err(Error::usage("--nodes", "is for private clusters")
                .advise("the URL names the nodes"));
        }
        Target::Existing { .. } => {}
        Target::Private { .. } | Target::Embedded { .. } => {
            return Err(no_cluster(&request.target));
        }
    }
    match (args.network_delay, args.fault) {
        (Some(delay), _) => request::delay_links(delay.0, &mut request.target)?,
        (None, Some(HowArg::Partition)) if request.data_dir().is_some() => {
            request::delay_links(0.0, &mut request.target)?
        }
        (None, _) => {}
    }
    request.is_sampled = false;
    Ok(request)
}

fn no_cluster(target: &Target) -> Error {
    let known: Vec<_> = crate::server::CLUSTERS.iter().map(|kind| kind.name).collect();
    let advice = format!("give {} or the URL of a cluster", known.join(", "));
    Error::usage("TARGET", format!("{} is not a cluster: nothing takes over", target.label()))
        .advise(advice)
}

fn failover_options(target: &Target, args: &FailoverArgs) -> Result<FailoverOptions> {
    check_times(args)?;
    let commands = match target {
        Target::Existing { .. } => Some(commands(args)?),
        Target::Private { .. } | Target::Embedded { .. } => {
            refuse_commands(args)?;
            None
        }
    };
    let how = match args.fault.unwrap_or(HowArg::Kill) {
        HowArg::Kill => How::Kill,
        HowArg::Freeze => How::Freeze,
        HowArg::Partition => How::Cut,
    };
    Ok(FailoverOptions {
        how,
        commands,
        promote: args.promote_command.clone(),
        node: args.node.clone(),
        jobs: args.jobs,
        before_s: args.before.0,
        after_s: args.after.0,
        timeout_s: args.timeout.0,
        resends: args.resend,
        repetitions: args.repeat,
    })
}

fn check_times(args: &FailoverArgs) -> Result<()> {
    if args.before.0 < MIN_BEFORE_S {
        return Err(Error::usage(
            "--before",
            format!("{:?} s is too short to know the throughput", args.before.0),
        )
        .advise("give 1s or more"));
    }
    if args.timeout.0 < MIN_TIMEOUT_S {
        return Err(Error::usage(
            "--timeout",
            format!("{:?} s is shorter than commits may take", args.timeout.0),
        )
        .advise("give 50ms or more"));
    }
    if args.after.0 < args.timeout.0 + 1.0 {
        return Err(Error::usage(
            "--after",
            format!("{:?} s ends before clients can go on", args.after.0),
        )
        .advise("give more than --timeout and 1 s"));
    }
    Ok(())
}

/// The commands for an existing cluster.
fn commands(args: &FailoverArgs) -> Result<Commands> {
    if !args.allow_disruption {
        return Err(Error::usage(
            "TARGET",
            "a node of this existing cluster would fail, and commits may be lost",
        )
        .advise("give --allow-disruption if that is wanted, or the name of a private cluster"));
    }
    if args.fault.is_some() {
        return Err(
            Error::usage("--fault", "is for private clusters").advise("give it by --fault-command")
        );
    }
    match (&args.fault_command, &args.repair_command) {
        (Some(fault), Some(repair)) => {
            Ok(Commands { fault: fault.clone(), repair: repair.clone() })
        }
        (None, _) => Err(Error::usage(
            "--fault-command",
            "is required: dbdyno cannot make a node of an existing cluster fail by itself",
        )
        .advise("give the command that makes the node $DBDYNO_NODE fail")),
        (_, None) => {
            Err(Error::usage("--repair-command", "is needed: a node that fails must not stay so")
                .advise("give the command that makes the cluster whole again"))
        }
    }
}

fn refuse_commands(args: &FailoverArgs) -> Result<()> {
    let given = [
        ("--fault-command", args.fault_command.is_some()),
        ("--repair-command", args.repair_command.is_some()),
        ("--allow-disruption", args.allow_disruption),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            Err(Error::usage(*flag, "is for existing clusters")
                .advise("leave it out, or give a URL"))
        }
        None => Ok(()),
    }
}

fn measure(
    context: &Context,
    catalog: &Catalog,
    request: &Request,
    options: &FailoverOptions,
) -> Result<RunEnd> {
    let plan = failover::plan(request);
    let measuring = Measuring::begin(context, catalog, request, &plan)?;
    let mut store = context.store()?;
    measuring
        .on_console(Console::show, |run_context| failover::run(run_context, options, &mut store))
}
