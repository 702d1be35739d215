//! The one integration binary.

mod architecture;
mod catalogue;
mod cli_catalog;
mod cli_disk;
mod cli_errors;
mod cli_existing;
mod cli_private;
mod cli_run;
mod cli_show;
mod crash;
mod dataset;
mod docs;
mod engine_contract;
mod every_workload;
mod fixture;
mod heatmaps;
mod postgres_versions;
mod private_server;
mod probes;
mod reports;
mod resume;
mod runner;
mod store;
mod suites;
mod support;
mod workbook;
