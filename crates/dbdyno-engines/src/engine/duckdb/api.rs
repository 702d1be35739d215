//! DuckDB's C interface, as far as we use it: the types and functions of `duckdb.h` (1.5), looked
//! up in a library that was loaded at run time.

use std::ffi::{c_char, c_void};

use crate::engine::loading::functions;

/// `duckdb_database`, `duckdb_connection` and all other handles.
pub(super) type Handle = *mut c_void;
/// `idx_t`.
pub(super) type Idx = u64;
/// `duckdb_state`: 0 is success.
pub(super) type State = u32;

/// `duckdb_type`: what the values of a vector are; the numbers of the types that we read or write
/// by themselves.
pub(super) mod types {
    pub const BOOLEAN: u32 = 1;
    pub const TINYINT: u32 = 2;
    pub const SMALLINT: u32 = 3;
    pub const INTEGER: u32 = 4;
    pub const BIGINT: u32 = 5;
    pub const UTINYINT: u32 = 6;
    pub const USMALLINT: u32 = 7;
    pub const UINTEGER: u32 = 8;
    pub const UBIGINT: u32 = 9;
    pub const FLOAT: u32 = 10;
    pub const DOUBLE: u32 = 11;
    pub const DATE: u32 = 13;
    pub const HUGEINT: u32 = 16;
    pub const VARCHAR: u32 = 17;
    pub const BLOB: u32 = 18;
    pub const DECIMAL: u32 = 19;
}

/// `duckdb_result_type` of a statement that changed rows.
pub(super) const CHANGED_ROWS: u32 = 1;
/// `duckdb_statement_type` of a query.
pub(super) const SELECT: u32 = 1;
/// `duckdb_statement_type` of create, alter, create function, drop.
pub(super) const CATALOG: [u32; 4] = [7, 10, 14, 15];

/// `duckdb_result`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RawResult {
    deprecated: [u64; 3],
    columns: *mut c_void,
    message: *mut c_char,
    internal: *mut c_void,
}

impl RawResult {
    /// To be filled by the library.
    pub(super) const EMPTY: RawResult = RawResult {
        deprecated: [0; 3],
        columns: std::ptr::null_mut(),
        message: std::ptr::null_mut(),
        internal: std::ptr::null_mut(),
    };
}

/// `duckdb_string_t`: up to 12 bytes lie within, longer texts elsewhere.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RawText {
    pub length: u32,
    prefix: [u8; 4],
    pub pointer: *const u8,
}

/// `duckdb_logger_write_log_entry_t`: our data, time, level, type, message.
pub(super) type WriteLogEntry =
    unsafe extern "C" fn(*mut c_void, *mut i64, *const c_char, *const c_char, *const c_char);
/// `duckdb_delete_callback_t`.
pub(super) type Delete = unsafe extern "C" fn(*mut c_void);

functions! {
    "duckdb_":
    vector_size() -> Idx;
    free(*mut c_void);

    create_config(*mut Handle) -> State;
    set_config(Handle, *const c_char, *const c_char) -> State;
    destroy_config(*mut Handle);
    open_ext(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> State;
    close(*mut Handle);
    connect(Handle, *mut Handle) -> State;
    disconnect(*mut Handle);
    interrupt(Handle);

    create_log_storage() -> Handle;
    log_storage_set_write_log_entry(Handle, WriteLogEntry);
    log_storage_set_extra_data(Handle, *mut c_void, Delete);
    log_storage_set_name(Handle, *const c_char);
    register_log_storage(Handle, Handle) -> State;
    destroy_log_storage(*mut Handle);

    query(Handle, *const c_char, *mut RawResult) -> State;
    destroy_result(*mut RawResult);
    result_error(*mut RawResult) -> *const c_char;
    result_error_type(*mut RawResult) -> u32;
    result_return_type(RawResult) -> u32;
    rows_changed(*mut RawResult) -> Idx;
    column_count(*mut RawResult) -> Idx;
    column_name(*mut RawResult, Idx) -> *const c_char;
    row_count(*mut RawResult) -> Idx;
    value_varchar(*mut RawResult, Idx, Idx) -> *mut c_char;
    fetch_chunk(RawResult) -> Handle;

    prepare(Handle, *const c_char, *mut Handle) -> State;
    prepare_error(Handle) -> *const c_char;
    destroy_prepare(*mut Handle);
    nparams(Handle) -> Idx;
    prepared_statement_type(Handle) -> u32;
    prepared_statement_column_count(Handle) -> Idx;
    prepared_statement_column_logical_type(Handle, Idx) -> Handle;
    bind_int64(Handle, Idx, i64) -> State;
    execute_prepared(Handle, *mut RawResult) -> State;
    execute_prepared_streaming(Handle, *mut RawResult) -> State;

    get_type_id(Handle) -> u32;
    decimal_internal_type(Handle) -> u32;
    destroy_logical_type(*mut Handle);

    create_data_chunk(*mut Handle, Idx) -> Handle;
    destroy_data_chunk(*mut Handle);
    data_chunk_reset(Handle);
    data_chunk_get_size(Handle) -> Idx;
    data_chunk_set_size(Handle, Idx);
    data_chunk_get_vector(Handle, Idx) -> Handle;
    vector_get_data(Handle) -> *mut c_void;
    vector_assign_string_element_len(Handle, Idx, *const c_char, Idx);

    appender_create(Handle, *const c_char, *const c_char, *mut Handle) -> State;
    appender_column_count(Handle) -> Idx;
    appender_column_type(Handle, Idx) -> Handle;
    append_data_chunk(Handle, Handle) -> State;
    appender_close(Handle) -> State;
    appender_clear(Handle) -> State;
    appender_error(Handle) -> *const c_char;
    appender_destroy(*mut Handle) -> State;
}
