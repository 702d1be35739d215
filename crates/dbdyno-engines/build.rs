//! Code that engines behind a client of a server share: compiled with any of them
//! (`cfg(has_client)`).

/// Features of engines behind a client of a server.
const CLIENTS: [&str; 3] = ["MARIADB", "POSTGRES", "ORACLE_BETA"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(has_client)");
    if CLIENTS.iter().any(|engine| std::env::var_os(format!("CARGO_FEATURE_{engine}")).is_some()) {
        println!("cargo:rustc-cfg=has_client");
    }
}
