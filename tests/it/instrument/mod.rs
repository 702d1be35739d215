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
//!
//! Possible errors of an instrument, and the test that would find each. Without a crate those of
//! this directory and its siblings; `core`, `engines` and `lab` are unit tests of those crates.
//!
//! | mistake | test |
//! |---|---|
//! | fixed work times more ops than a window | `time::fixed_work_is_as_fast_as_a_window` |
//! | samples of unlike rates count alike | `time::a_slow_second_counts_as_many_ops_as_it_had` |
//! | cost of timing is not known | `time::fixed_work_on_databases_times_a_few_ops_as_windows_do` |
//! | tests, jobs or runs draw the keys of others | `touched::*_of_independent_draws` |
//! | the key decides if its row is updated | `touched::*_updates_the_rows_of_independent_*` |
//! | two sides of a block draw other keys | `touched::both_sides_of_a_block_update_*` |
//! | drives or engines draw other keys | `skewed::routines_of_servers_draw_the_keys_of_*` |
//! | a second statement of a step is not run | engines: `a_second_statement_is_refused_and_*` |
//! | sessions of load generators are not seen | `load_generators::sessions_of_all_machines_*` |
//! | samples of many sessions cost too much | lab: `of_many_sessions_samples_are_taken_*` |
//! | a long test takes all memory | `memory::*`; lab: `of_a_day_no_more_samples_are_kept_*` |
//! | errors in a row are those of a slice | `runner::errors_are_in_a_row_only_if_no_op_*` |
//! | an error hides what was committed | `faults::an_error_does_not_void_what_was_committed_*` |
//! | a clock that was set back | `faults::a_routine_whose_servers_clock_is_set_back_*` |
//! | what is held beside the jobs is lost | `faults::a_snapshot_that_is_not_held_to_the_end_*` |
//! | a setting of the server ends a session | `private_server::no_session_of_ours_ends_*` |
//! | a silent server keeps a run | `faults::a_server_that_stands_still_*`, `cluster_faults` |
//! | one crash ends all tests | `faults::a_backend_that_crashes_costs_its_test_*` |
//! | threads, memory, statements run out | `limits::*`, `sessions::*` |
//! | tables of others are dropped | `dataset::leftovers_of_a_killed_run_go_*`, `security` |
//! | intervals that do not cover | `intervals::*`; core: `stats::sequence`, `analysis::ab_test` |
//! | a counter wears the interval of the ops | `intervals::a_counter_has_the_interval_of_its_*` |
//! | reports contradict one another | `figures::*`, `ab_tests::a_comparison_of_both_sides_*` |
//! | a statement rests on a bad figure | `statements::no_statement_of_any_report_changes_*` |
//! | an invalid trial meets an SLO | `statements::no_invalid_trial_keeps_a_rate` |
//! | survivors of a side are compared | `statements::an_ab_test_says_nothing_of_the_survivors_*` |
//! | what has no price is cheap | `statements::an_option_without_a_price_makes_no_*` |
//! | a cache is taken for the device | core: `first_lookups_behind_the_end_of_a_*` |
//! | what lasts depends on milliseconds | core: `equal_tests_do_not_differ_by_how_many_*` |
//! | noise has changes, cliffs, peaks | core: `analysis::changes`, `stats::cliffs`; `intervals` |

mod faults;
mod intervals;
mod limits;
mod memory;
mod statements;
mod time;
mod touched;
mod witness;
