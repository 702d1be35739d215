//! The engines of dbdyno and the probes: what talks to a database or reads the host.
//!
//! Begin with [`engine::Engine`], the contract that every engine keeps, and [`engine::ENGINES`],
//! their list. [`host`] reads facts of the machine, [`probe`] its counters and the database's.

#![deny(missing_docs)]

pub mod engine;
pub mod host;
pub mod probe;
