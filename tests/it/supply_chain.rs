//! Supply chain of this program: the rules of `deny.toml`, held without a further program and
//! without a network. `make deny` asks cargo-deny, which also knows the published advisories.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    sources: Sources,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skipped>,
}

#[derive(Deserialize)]
struct Skipped {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

/// A package of the lock file.
#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

fn rules() -> Rules {
    toml::from_str(&std::fs::read_to_string("deny.toml").unwrap()).unwrap()
}

fn is_ours(name: &str) -> bool {
    name.starts_with("dbdyno")
}

/// Every package of the lock file, without our own.
fn locked_packages() -> Vec<Locked> {
    let lock: Lock = toml::from_str(&std::fs::read_to_string("Cargo.lock").unwrap()).unwrap();
    let packages: Vec<Locked> =
        lock.package.into_iter().filter(|package| !is_ours(&package.name)).collect();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    packages
}

/// The packages with what they say of themselves, without our own: those of all systems, or, where
/// those of others were never fetched, of this one. Nothing is fetched.
fn packages() -> Vec<Package> {
    let asked = |more: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--offline", "--all-features"])
            .args(more)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(output.stdout).ok_or(said)
    };
    let told = asked(&[])
        .or_else(|_| asked(&["--filter-platform", &this_platform()]))
        .unwrap_or_else(|said| panic!("{said}"));
    let metadata: Metadata = serde_json::from_slice(&told).unwrap();
    let packages: Vec<Package> =
        metadata.packages.into_iter().filter(|package| !is_ours(&package.name)).collect();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    packages
}

/// Compiler's name of the system that it runs on.
fn this_platform() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_string()
}

#[test]
fn every_package_has_a_permissive_licence() {
    let allowed: Vec<Licensee> =
        rules().licenses.allow.iter().map(|name| Licensee::parse(name).unwrap()).collect();
    for package in packages() {
        let text = package.license.unwrap_or_else(|| panic!("{} states none", package.name));
        let expression = Expression::parse_mode(&text, ParseMode::LAX)
            .unwrap_or_else(|error| panic!("{}: {text}: {error}", package.name));
        let is_allowed =
            expression.evaluate(|asked| allowed.iter().any(|licensee| licensee.satisfies(asked)));
        assert!(is_allowed, "{} {}: {text}", package.name, package.version);
    }
}

#[test]
fn every_package_comes_from_the_registry() {
    let allowed = rules().sources.allow_registry;
    for package in locked_packages() {
        let source = package.source.unwrap_or_else(|| panic!("{} is a path", package.name));
        let registry = source.strip_prefix("registry+").unwrap_or(&source);
        assert!(allowed.iter().any(|name| name == registry), "{}: {source}", package.name);
    }
}

#[test]
fn two_versions_of_a_package_are_named_with_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in locked_packages() {
        versions.entry(package.name).or_default().insert(package.version);
    }
    let doubled: BTreeSet<String> = versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, _)| name)
        .collect();
    let named: BTreeSet<String> =
        rules().bans.skip.into_iter().map(|skipped| skipped.name).collect();
    assert_eq!(doubled, named, "left: in the lock file; right: in deny.toml");
}
