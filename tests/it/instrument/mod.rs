//! Independent checks of the instrument itself: each compares a figure with a witness that shares
//! no code and no assumption with it.
//!
//! - what was touched: the content of the tables after a test;
//! - time: engines whose service times have a known distribution;
//! - intervals: the coverage of every interval that is printed, by simulation;
//! - statements: runs with one bad input each, through every report and exit code;
//! - counts: what the server's own statistics and its log say of the same ops;
//! - memory: what a day of a thousand jobs holds;
//! - faults and limits: servers that crash, freeze or vanish, machines that run out of something.

mod faults;
mod intervals;
mod limits;
mod memory;
mod statements;
mod time;
mod touched;
mod witness;
