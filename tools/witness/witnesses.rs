//! The engines that have witnesses, and what each of them is compared with.

use dbdyno::error::Result;

use super::agreement::Agreement;
use super::counts::{CountWitness, Extent, Sqlite};
use super::lab::Lab;
use super::mariadb::MariaDb;
use super::postgres::Postgres;
use super::times::Clocks;
use super::{changes, connections, keys};

/// The witnesses of an engine.
pub trait Witness: CountWitness {
    /// The clocks that are not ours; it says why there are none.
    fn clocks(&self) -> Clocks;
    /// Comparisons with other programs that do the same work.
    fn programs(&self) -> &'static [ProgramComparison] {
        &[]
    }
    /// True if recall is compared on it, on a server with vectors.
    fn has_vectors(&self) -> bool {
        false
    }
}

/// A comparison of counts with those of another program.
pub struct ProgramComparison {
    /// Our workloads, and the program.
    pub name: &'static str,
    pub agreements: fn(&Lab, Extent) -> Result<Vec<Agreement>>,
}

/// Witnesses of all engines, in the order in which they are compared.
pub const WITNESSES: &[&dyn Witness] = &[&Postgres, &MariaDb, &Sqlite];

impl Witness for Postgres {
    fn clocks(&self) -> Clocks {
        Clocks::Server(&Postgres)
    }

    fn programs(&self) -> &'static [ProgramComparison] {
        &[
            ProgramComparison {
                name: "CONN-NEW beside pgbench -C",
                agreements: connections::agreements,
            },
            ProgramComparison {
                name: "WITNESS-KEYS beside random_zipfian",
                agreements: keys::agreements,
            },
        ]
    }

    fn has_vectors(&self) -> bool {
        true
    }
}

impl Witness for MariaDb {
    fn clocks(&self) -> Clocks {
        Clocks::Server(&MariaDb)
    }

    fn programs(&self) -> &'static [ProgramComparison] {
        &[ProgramComparison {
            name: "DL-DELETE, LGWR-LAT beside sysbench",
            agreements: changes::agreements,
        }]
    }
}

impl Witness for Sqlite {
    fn clocks(&self) -> Clocks {
        Clocks::of_kernel()
    }
}
