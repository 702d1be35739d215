//! chDB's C interface, as far as we use it: the functions of `chdb.h` (26.7), looked up in a
//! library that was loaded at run time.

use std::ffi::{c_char, c_int, c_void};

use crate::engine::loading::functions;

/// `chdb_connection`, `chdb_result *`, `chdb_insert_stream`.
pub(super) type Handle = *mut c_void;

functions! {
    "chdb_":
    set_signal_handlers_enabled(c_int);
    connect(c_int, *mut *mut c_char) -> *mut Handle;
    close_conn(*mut Handle);

    query_with_params_n(
        Handle, *const c_char, usize, *const c_char, usize,
        *const *const c_char, *const usize, *const *const c_char, *const usize, usize
    ) -> Handle;
    stream_query_with_params_n(
        Handle, *const c_char, usize, *const c_char, usize,
        *const *const c_char, *const usize, *const *const c_char, *const usize, usize
    ) -> Handle;
    stream_fetch_result(Handle, Handle) -> Handle;
    destroy_query_result(Handle);
    result_buffer(Handle) -> *const c_char;
    result_length(Handle) -> usize;
    result_rows_read(Handle) -> u64;
    result_rows_written(Handle) -> u64;
    result_error(Handle) -> *const c_char;

    stream_insert_n(Handle, *const c_char, usize, *const c_char, usize) -> Handle;
    stream_append(Handle, *const c_void, usize) -> c_int;
    stream_done(Handle) -> Handle;
    stream_insert_error(Handle) -> *const c_char;
    destroy_insert_stream(Handle);
}
