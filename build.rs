//! The test of a live Oracle server is ignored, with the reason, unless the environment names one.

fn main() {
    println!("cargo:rerun-if-env-changed=DBDYNO_TEST_ORACLE");
    println!("cargo:rustc-check-cfg=cfg(oracle_server)");
    if std::env::var_os("DBDYNO_TEST_ORACLE").is_some() {
        println!("cargo:rustc-cfg=oracle_server");
    }
}
