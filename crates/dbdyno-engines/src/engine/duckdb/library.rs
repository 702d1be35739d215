//! The shared library: where it comes from, and which versions are supported.

use super::api::Api;
use crate::engine::Version;
use crate::engine::library::Package;
use crate::engine::loading::{Loader, Source};

/// Version whose header `api` follows.
const PACKAGE: Package = Package {
    name: "@duckdb/node-bindings-",
    version: "1.5.6",
    revision: "1.5.6-r.1",
    sha256: &[
        ("linux-x64", "1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff"),
        ("linux-arm64", "3a45a6305b3235a781ed9de25aa795a3862acd042782d1f864e1bdb656de212b"),
        ("darwin-x64", "1004f6a9ec624612e8d30e25010070e7e3aac23fc807146a470c5a4f6f6e38e0"),
        ("darwin-arm64", "6ca33c2c6566246d6a452e24194f004010dd860d5b2764c7143ff255555862ca"),
    ],
    on_linux: "",
    library: "duckdb",
};
const MAJOR: u32 = 1;
const OLDEST: [u32; 2] = [MAJOR, 5];

/// The library as the rest of the program sees it.
pub(super) static LIBRARY: Loader<Api> = Loader::new(Source {
    engine: "duckdb",
    product: "DuckDB",
    package: PACKAGE,
    version_function: "duckdb_library_version",
    supports,
    supported: "1.5 and newer 1.x",
    functions: Api::load,
    advice: "fetch it ('dbdyno binaries fetch duckdb', which uses your npm), or name the directory \
             of another with --server-bin",
});

fn supports(version: &Version) -> bool {
    version.0.first() == Some(&MAJOR) && version.0.as_slice() >= OLDEST.as_slice()
}
