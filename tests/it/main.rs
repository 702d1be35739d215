//! The one integration binary.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests may panic and print"
)]

mod architecture;
mod beside;
mod browser;
mod campaigns;
mod capacity;
mod catalogue;
mod chromium;
mod cli_catalog;
mod cli_compare;
mod cli_disk;
mod cli_errors;
mod cli_existing;
mod cli_output;
mod cli_pages;
mod cli_private;
mod cli_reports;
mod cli_run;
mod cli_show;
mod cluster_faults;
mod clusters;
mod crash;
mod dataset;
mod docs;
mod dress;
mod duckdb;
mod durability;
mod engine_contract;
mod every_suite;
mod every_workload;
mod export_sql;
mod failed_again;
mod failover;
mod faults;
mod figures;
mod findings;
mod fixture;
mod guide;
mod heatmaps;
mod hostile;
mod instrument;
mod languages;
mod leftovers;
mod limits;
mod live;
mod mariadb;
mod mysql;
mod network;
mod one_at_a_time;
mod open_loop;
mod oracle;
mod oracle_sql;
mod peers;
mod postgres_versions;
mod private_server;
mod probes;
mod published_ramps;
mod published_reports;
mod remote;
mod reports;
mod resume;
mod runner;
mod scale;
mod security;
mod selftest;
mod serve;
mod servers;
mod sessions;
mod shared_results;
mod sizes;
mod skeleton;
mod skewed;
mod skipped;
mod slowest;
mod small_disk;
mod stalls;
mod storage;
mod store;
mod studies;
mod suites;
mod summaries;
mod supply_chain;
mod support;
mod tls;
mod ttc;
mod verify;
mod waits;
mod workbook;
mod workers;
