//! One file per command.

pub mod calibrate;
pub mod campaign;
pub mod capacity;
pub mod catalogue;
pub mod check;
pub mod compare;
pub mod data;
pub mod export_sql;
pub mod failover;
pub mod generate;
pub mod list;
pub mod list_plan;
pub mod monitor;
pub mod overhead;
pub mod probe;
pub mod reference;
pub mod report;
pub mod run;
pub mod runs;
pub mod selftest;
pub mod serve;
pub mod server;
pub mod show;
pub mod show_suite;
pub mod study;
pub mod worker;
