//! `calibrate`: measures how much equal tests differ on a platform, for `compare`.

use super::run;
use crate::analysis::noise::LABEL;
use crate::cli::args::{FreshArg, RunArgs};
use crate::cli::context::Context;
use crate::cli::values::Label;
use crate::cli::{paths, target};
use crate::error::Result;
use crate::model::Target;

/// Blocks, if the user does not say.
const BLOCKS: u32 = 5;

/// A run of five blocks, each on data of its own where the database is ours, with the label that
/// makes it a calibration.
///
/// # Errors
/// As those of `run`.
pub fn calibrate(context: &Context, args: &RunArgs) -> Result<()> {
    let mut args = args.clone();
    let place = target::TargetLocation {
        data_dir: paths::data_dir(None),
        server_bin: None,
        port: None,
        without_database: false,
    };
    let is_ours =
        !matches!(target::parse(&args.target.place.target, place)?.0, Target::Existing { .. });
    args.repeat = args.repeat.or(Some(BLOCKS));
    args.fresh = args.fresh.or(is_ours.then_some(FreshArg::Data));
    args.naming.label.push(Label { key: LABEL.0.into(), value: LABEL.1.into() });
    run::run(context, &args)
}
