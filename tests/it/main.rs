//! The one integration binary.

mod architecture;
mod catalogue;
mod dataset;
mod engine_contract;
mod fixture;
mod private_server;
mod probes;
mod reports;
mod store;
