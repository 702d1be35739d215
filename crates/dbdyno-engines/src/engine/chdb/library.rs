//! The shared library: where it comes from, and which versions are supported.

use super::api::Api;
use crate::engine::Version;
use crate::engine::library::Package;
use crate::engine::loading::{Loader, Source};

/// Version whose header `api` follows; there is a public package for one platform.
const PACKAGE: Package = Package {
    name: "@chdb/lib-",
    version: "26.7.3",
    revision: "26.7.3-stable.1",
    sha256: &[("linux-x64", "c0d32b129e988f2b9a9a31c9141aecf5e1e2453f9a079efc4d36ab8e3f92b2ad")],
    on_linux: "-gnu",
    library: "chdb",
};
/// From it on there are parameters of a query, and sessions side by side.
const OLDEST: [u32; 2] = [26, 5];

/// The library as the rest of the program sees it.
pub(super) static LIBRARY: Loader<Api> = Loader::new(Source {
    engine: "chdb",
    product: "chDB",
    package: PACKAGE,
    version_function: "chdb_version",
    supports,
    supported: "26.5 and newer",
    functions: Api::load,
    advice: "fetch it ('dbdyno binaries fetch chdb', which uses your npm), or name the directory \
             of another with --server-bin",
});

fn supports(version: &Version) -> bool {
    version.0.as_slice() >= OLDEST.as_slice()
}
