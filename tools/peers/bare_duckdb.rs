//! A bare loop over DuckDB's C interface: prepare once, then bind, execute, read every value of
//! every column.

use std::ffi::{CString, c_char, c_void};
use std::hint::black_box;
use std::path::Path;
use std::ptr;
use std::time::Instant;

use dbdyno::error::Result;
use dbdyno::server;
use dbdyno::stats::keys::KeyStream;
use libloading::Library;

use crate::failed;
use crate::lab::{Lab, SEED};
use crate::pairs::Done;

type Handle = *mut c_void;

/// `duckdb_result`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawResult([u64; 6]);

/// Functions of the library, as a program that is linked with it would call them.
struct Api {
    create_config: unsafe extern "C" fn(*mut Handle) -> u32,
    set_config: unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> u32,
    open_ext: unsafe extern "C" fn(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> u32,
    close: unsafe extern "C" fn(*mut Handle),
    connect: unsafe extern "C" fn(Handle, *mut Handle) -> u32,
    disconnect: unsafe extern "C" fn(*mut Handle),
    prepare: unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> u32,
    destroy_prepare: unsafe extern "C" fn(*mut Handle),
    bind_int64: unsafe extern "C" fn(Handle, u64, i64) -> u32,
    execute: unsafe extern "C" fn(Handle, *mut RawResult) -> u32,
    destroy_result: unsafe extern "C" fn(*mut RawResult),
    fetch_chunk: unsafe extern "C" fn(RawResult) -> Handle,
    size: unsafe extern "C" fn(Handle) -> u64,
    vector: unsafe extern "C" fn(Handle, u64) -> Handle,
    data: unsafe extern "C" fn(Handle) -> *const u8,
    destroy_chunk: unsafe extern "C" fn(*mut Handle),
}

impl Api {
    /// # Safety
    /// The library is DuckDB's and stays loaded.
    unsafe fn load(library: &Library) -> std::result::Result<Api, libloading::Error> {
        // SAFETY: the caller's; the types are those of the header.
        unsafe {
            Ok(Api {
                create_config: *library.get(b"duckdb_create_config")?,
                set_config: *library.get(b"duckdb_set_config")?,
                open_ext: *library.get(b"duckdb_open_ext")?,
                close: *library.get(b"duckdb_close")?,
                connect: *library.get(b"duckdb_connect")?,
                disconnect: *library.get(b"duckdb_disconnect")?,
                prepare: *library.get(b"duckdb_prepare")?,
                destroy_prepare: *library.get(b"duckdb_destroy_prepare")?,
                bind_int64: *library.get(b"duckdb_bind_int64")?,
                execute: *library.get(b"duckdb_execute_prepared_streaming")?,
                destroy_result: *library.get(b"duckdb_destroy_result")?,
                fetch_chunk: *library.get(b"duckdb_fetch_chunk")?,
                size: *library.get(b"duckdb_data_chunk_get_size")?,
                vector: *library.get(b"duckdb_data_chunk_get_vector")?,
                data: *library.get(b"duckdb_vector_get_data")?,
                destroy_chunk: *library.get(b"duckdb_destroy_data_chunk")?,
            })
        }
    }
}

/// A statement that the loop runs.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    pub sql: &'a str,
    /// Random keys for its bind; 0 if it has none.
    pub keys: u64,
    /// Bytes of the values of its columns.
    pub widths: &'a [usize],
}

/// Loops for `seconds` over a statement and reads its columns: statements per second. In a thread
/// of its own as our jobs are.
pub fn run(lab: &Lab, query: Query<'_>, seconds: f64) -> Result<Done> {
    let file = lab.file.as_deref().ok_or_else(|| failed("bare loop", "needs a file"))?;
    let dir = server::fetch("duckdb", None)?.dir;
    let named = |error: libloading::Error| failed("bare loop", error.to_string());
    // SAFETY: it is DuckDB's library, which our engine has loaded too.
    let library = unsafe { Library::new(dir.join("libduckdb.so")) }.map_err(named)?;
    // SAFETY: as above; the library outlives the loop.
    let api = unsafe { Api::load(&library) }.map_err(named)?;
    std::thread::scope(|scope| {
        // SAFETY: as above.
        let thread = scope.spawn(|| unsafe { statements(&api, file, query, seconds) });
        thread.join().unwrap_or_else(|_| Err(failed("bare loop", "panicked")))
    })
}

/// # Safety
/// `api` is that of a loaded library; columns of the query have its widths.
unsafe fn statements(api: &Api, file: &Path, query: Query<'_>, seconds: f64) -> Result<Done> {
    let Query { sql, keys, widths } = query;
    let text = |text: &str| CString::new(text).map_err(|_| failed("bare loop", "a zero byte"));
    let expect =
        |state: u32, what: &str| if state == 0 { Ok(()) } else { Err(failed("bare loop", what)) };
    let [mut config, mut database, mut connection, mut statement] = [ptr::null_mut(); 4];
    let mut stream = KeyStream::for_job(SEED, 1);
    // SAFETY: handles are closed in the order in which they depend on one another; texts live
    // through their calls.
    unsafe {
        expect((api.create_config)(&mut config), "config")?;
        // As our own session has them; only the file is not to be changed beside us.
        for (name, value) in
            [("threads", "1"), ("memory_limit", "64MiB"), ("access_mode", "READ_ONLY")]
        {
            expect((api.set_config)(config, text(name)?.as_ptr(), text(value)?.as_ptr()), name)?;
        }
        let path = text(&file.display().to_string())?;
        expect((api.open_ext)(path.as_ptr(), &mut database, config, ptr::null_mut()), "open")?;
        expect((api.connect)(database, &mut connection), "connect")?;
        expect((api.prepare)(connection, text(sql)?.as_ptr(), &mut statement), "prepare")?;
        let (start, mut ops) = (Instant::now(), 0u64);
        while start.elapsed().as_secs_f64() < seconds {
            if keys > 0 {
                expect((api.bind_int64)(statement, 1, stream.key(keys) as i64), "bind")?;
            }
            one(api, statement, widths).and_then(|rows| expect(u32::from(rows == 0), "no row"))?;
            ops += 1;
        }
        let rate = ops as f64 / start.elapsed().as_secs_f64();
        (api.destroy_prepare)(&mut statement);
        (api.disconnect)(&mut connection);
        (api.close)(&mut database);
        Ok(Done::new(rate, Some(ops as f64)))
    }
}

/// Runs the statement to its end; the rows that it gave.
///
/// # Safety
/// As [`statements`].
unsafe fn one(api: &Api, statement: Handle, widths: &[usize]) -> Result<u64> {
    let (mut result, mut rows) = (RawResult([0; 6]), 0);
    // SAFETY: the statement is prepared; every chunk and the result are destroyed once.
    unsafe {
        if (api.execute)(statement, &mut result) != 0 {
            return Err(failed("bare loop", "execute"));
        }
        loop {
            let mut chunk = (api.fetch_chunk)(result);
            if chunk.is_null() {
                break;
            }
            let size = (api.size)(chunk);
            for (column, width) in (0..).zip(widths) {
                let data = (api.data)((api.vector)(chunk, column));
                (0..size as usize).for_each(|row| _ = black_box(*data.add(row * width)));
            }
            rows += size;
            (api.destroy_chunk)(&mut chunk);
        }
        (api.destroy_result)(&mut result);
    }
    Ok(rows)
}
