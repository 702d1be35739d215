//! Hash of the sources that the program is built from: load generators and their coordinator must
//! be of one build, or what they measure is not the same.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of what a load generator does. Those of another package lie elsewhere where packages
/// are built one by one: then they are not looked at.
const SOURCES: [&str; 3] = ["src", "../dbdyno-core/src", "../dbdyno-engines/src"];
/// Offset basis of the hash (FNV-1a, 64 bits), which needs no package to build this one.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn main() {
    let mut hash = OFFSET;
    for directory in SOURCES.map(PathBuf::from).into_iter().filter(|directory| directory.is_dir()) {
        println!("cargo:rerun-if-changed={}", directory.display());
        let mut files = files_of(&directory);
        files.sort();
        for file in files {
            hash = add_to_hash(hash, file.to_string_lossy().as_bytes());
            hash = add_to_hash(hash, &fs::read(&file).unwrap_or_default());
        }
    }
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo:rustc-env=DBDYNO_BUILD={profile}-{hash:016x}");
}

fn files_of(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let found = |path: PathBuf| if path.is_dir() { files_of(&path) } else { vec![path] };
    entries.flat_map(|entry| found(entry.path())).collect()
}

fn add_to_hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}
