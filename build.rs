//! The catalogue is embedded in the binary: a new or changed file in it rebuilds the crate. The
//! test of a live Oracle server is ignored, with the reason, unless the environment names one.

/// Features of engines behind a client of a server: what these share is compiled with any of them
/// (`cfg(has_client)`).
const CLIENTS: [&str; 3] = ["MARIADB", "POSTGRES", "ORACLE_BETA"];

fn main() {
    println!("cargo:rerun-if-changed=catalog");
    println!("cargo:rerun-if-env-changed=DBDYNO_TEST_ORACLE");
    println!("cargo:rustc-check-cfg=cfg(has_client)");
    if CLIENTS.iter().any(|engine| std::env::var_os(format!("CARGO_FEATURE_{engine}")).is_some()) {
        println!("cargo:rustc-cfg=has_client");
    }
    println!("cargo:rustc-check-cfg=cfg(oracle_server)");
    if std::env::var_os("DBDYNO_TEST_ORACLE").is_some() {
        println!("cargo:rustc-cfg=oracle_server");
    }
}
