//! A size profile against this machine, before anything is created.

use std::path::Path;

use super::paths;
use super::setting::Setting;
use crate::campaign;
use crate::catalog::{Catalog, Profile};
use crate::dataset::{self, Request};
use crate::error::{Error, Result};
use crate::model::{Plan, TableRef, Target};
use crate::server::{Machine, Needs, free_bytes};

/// Refuses a profile that this machine is too small for. Existing servers have settings of their own.
///
/// # Errors
/// Of usage, with the figures and the largest profile that fits.
pub fn check(catalog: &Catalog, setting: &Setting, plan: &Plan) -> Result<()> {
    let (Target::Private { data_dir, .. } | Target::Embedded { data_dir, .. }) = &setting.target else { return Ok(()) };
    let machine = machine(data_dir);
    // The space for a size that the user chose is checked when it is loaded, as is that of a database that is there.
    let sized = setting.size_is_of_profile && !campaign::is_there(&setting.target);
    let needs = |profile: &Profile| {
        let request = Request { size_gb: profile.size_gb, ..campaign::data_request(plan) };
        Needs::of(profile, if sized { dataset::needed_bytes(&request) } else { 0 })
    };
    let Some(lacks) = machine.lacks(&needs(&setting.profile)) else { return Ok(()) };
    let advice = match machine.largest(catalog.profiles(), needs) {
        Some(largest) => format!("the largest that fits is {}", largest.id),
        None => "no profile fits".into(),
    };
    Err(Error::usage(format!("--profile {}", setting.profile.id), lacks).advise(advice))
}

/// `yes`, or what this machine lacks for a profile with its own data set in the default directory.
pub fn of_profile(profile: &Profile) -> String {
    let machine = machine(&paths::data_dir(None));
    machine.lacks(&of_own(profile)).unwrap_or_else(|| "yes".into())
}

/// What a profile needs with both tables at its own size.
pub fn of_own(profile: &Profile) -> Needs {
    let tables = ["small", "big"].map(TableRef::new).into();
    let request = Request { tables, size_gb: profile.size_gb, seed: 0, sessions: 1 };
    Needs::of(profile, dataset::needed_bytes(&request))
}

fn machine(data_dir: &Path) -> Machine {
    Machine { memory_bytes: crate::probe::memory_bytes(), disk_bytes: free_bytes(data_dir) }
}
