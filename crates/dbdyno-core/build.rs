//! The catalog is embedded in the binary: a new or changed file in it rebuilds the crate.

fn main() {
    println!("cargo:rerun-if-changed=catalog");
}
