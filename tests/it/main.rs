//! The one integration binary.

mod architecture;
mod catalogue;
mod engine_contract;
mod fixture;
mod private_server;
mod reports;
mod store;
