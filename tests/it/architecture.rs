//! The layer table of ARCHITECTURE.md holds in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Layers = BTreeMap<String, BTreeSet<String>>;

fn layers() -> Layers {
    let text = std::fs::read_to_string("ARCHITECTURE.md").unwrap();
    let section = text.split("## Layers").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let imports = cells[2].split(',').map(str::trim).filter(|name| !name.is_empty());
        (cells[1].to_string(), imports.map(String::from).collect())
    })
    .collect()
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The top-level module a source file belongs to: `src/engine/null.rs` -> `engine`.
fn module_of(file: &Path) -> String {
    let inside = file.strip_prefix("src").unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_string()
}

/// Modules named after `crate::` in the file, also inside `use crate::{a::x, b::y}`.
fn imports_of(source: &str) -> BTreeSet<String> {
    let mut imports = BTreeSet::new();
    for rest in source.split("crate::").skip(1) {
        if let Some(group) = rest.strip_prefix('{') {
            let inside = group.split('}').next().unwrap_or_default();
            imports.extend(inside.split(',').filter_map(|item| first_word(item.trim())));
        } else {
            imports.extend(first_word(rest));
        }
    }
    imports
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

#[test]
fn every_module_imports_only_what_its_row_names() {
    let layers = layers();
    let mut broken = Vec::new();
    for file in rust_files(Path::new("src")) {
        let module = module_of(&file);
        if module == "lib" || module == "main" {
            continue;
        }
        let allowed = layers.get(&module).unwrap_or_else(|| panic!("{module} is missing in the layer table"));
        for import in imports_of(&std::fs::read_to_string(&file).unwrap()) {
            if import != module && layers.contains_key(&import) && !allowed.contains(&import) {
                broken.push(format!("{}: {module} may not import {import}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn the_layer_table_has_no_cycle() {
    let layers = layers();
    let order: Vec<&String> = layers.keys().collect();
    for module in &order {
        assert!(!reaches(&layers, module, module, 0), "{module} reaches itself");
    }
}

fn reaches(layers: &Layers, from: &str, to: &str, depth: usize) -> bool {
    assert!(depth < 100);
    layers[from].iter().any(|next| next == to || reaches(layers, next, to, depth + 1))
}

#[test]
fn no_module_outside_engine_and_server_compares_engine_names() {
    let mut broken = Vec::new();
    for file in rust_files(Path::new("src")) {
        let module = module_of(&file);
        if module == "engine" || module == "server" {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for name in ["sqlite", "postgres", "null", "mariadb", "oracle"] {
            if code.contains(&format!("== \"{name}\"")) || code.contains(&format!("\"{name}\" =>")) {
                broken.push(format!("{}: compares with \"{name}\"", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
