//! The layers of ARCHITECTURE.md hold in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

type Layers = BTreeMap<String, BTreeSet<String>>;

fn layers() -> Layers {
    let text = std::fs::read_to_string("ARCHITECTURE.md").unwrap();
    let section = text.split("## Layers").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.split("```").nth(1).unwrap().lines().filter(|line| !line.is_empty());
    let cells = rows.map(|row| row.split_once(' ').unwrap_or((row, ""))).collect::<Vec<_>>();
    let all = || {
        cells
            .iter()
            .map(|(module, _)| *module)
            .filter(|module| *module != ALL_BELOW)
            .collect::<Vec<_>>()
    };
    let row = |(module, imports): &(&str, &str)| {
        let named = || imports.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let imports = if imports.trim() == "all" { all() } else { named() };
        (module.to_string(), imports.into_iter().map(String::from).collect())
    };
    cells.iter().map(row).collect()
}

/// The uppermost module, whose row says `all`: the others are below it.
const ALL_BELOW: &str = "cli";

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

/// The folders with the sources of the program and of its crates.
fn source_folders() -> Vec<PathBuf> {
    let crates = std::fs::read_dir("crates").unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = crates.map(|folder| folder.join("src")).collect();
    folders.push("src".into());
    folders.sort();
    folders
}

/// Every source file of the program and of its crates.
fn all_rust_files() -> Vec<PathBuf> {
    source_folders().iter().flat_map(|folder| rust_files(folder)).collect()
}

/// The crates that are one module by themselves: folder, name in Rust, module.
const WHOLE: [(&str, &str, &str); 2] = [
    ("crates/dbdyno-report", "dbdyno_report::", "report"),
    ("crates/dbdyno-stats", "dbdyno_stats::", "stats"),
];

/// The module a source file belongs to: `crates/dbdyno-engines/src/engine/null.rs` -> `engine`.
fn module_of(file: &Path) -> String {
    if let Some((_, _, module)) = WHOLE.iter().find(|(folder, _, _)| file.starts_with(folder)) {
        return (*module).into();
    }
    let mut inside = file.components().skip_while(|part| part.as_os_str() != "src").skip(1);
    let first = inside.next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_string()
}

/// Prefixes of a path to a module: in its own crate or in one below.
const CRATES: [&str; 4] = ["crate::", "dbdyno_core::", "dbdyno_engines::", "dbdyno_lab::"];

/// Modules named after `crate::` or another of [`CRATES`] in the file, also inside `use
/// crate::{a::{x, y}, b::z}`.
fn imports_of(source: &str) -> BTreeSet<String> {
    let named = |rest: &str| match rest.strip_prefix('{') {
        Some(group) => heads_of(group),
        None => first_word(rest).into_iter().collect(),
    };
    let mut imports: BTreeSet<String> =
        CRATES.iter().flat_map(|name| source.split(name).skip(1)).flat_map(named).collect();
    for (_, name, module) in WHOLE {
        if source.contains(name) {
            imports.insert(module.into());
        }
    }
    imports
}

/// The first words of the items of a group, up to the brace that closes it.
fn heads_of(group: &str) -> Vec<String> {
    let (mut heads, mut depth, mut item) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.extend(first_word(group[item..at].trim()));
                item = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

#[test]
fn every_module_imports_only_what_its_row_names() {
    let layers = layers();
    let mut broken = Vec::new();
    for file in all_rust_files() {
        let module = module_of(&file);
        if module == "lib" || module == "main" {
            continue;
        }
        let allowed =
            layers.get(&module).unwrap_or_else(|| panic!("{module} is missing among the layers"));
        for import in imports_of(&std::fs::read_to_string(&file).unwrap()) {
            if import != module && layers.contains_key(&import) && !allowed.contains(&import) {
                broken.push(format!("{}: {module} may not import {import}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn the_layers_have_no_cycle() {
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

const ANALYSIS: &str = "crates/dbdyno-core/src/analysis";

/// The files and folders of the analysis, each with those that its shipped code imports.
fn parts_of_analysis() -> Layers {
    let mut parts = Layers::new();
    for (file, code) in shipped_code() {
        let Ok(inside) = file.strip_prefix(ANALYSIS) else { continue };
        let names: Vec<&str> = inside.iter().map(|name| name.to_str().unwrap()).collect();
        let part = names[0].trim_end_matches(".rs");
        if part == "mod" {
            continue;
        }
        let is_top = names.len() == 1 || names[1..] == ["mod.rs"];
        let above = if is_top { "super::" } else { "super::super::" };
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        let imports = parts.entry(part.to_string()).or_default();
        for rest in [above, "crate::analysis::"].iter().flat_map(|name| code.split(name).skip(1)) {
            imports.extend(match rest.strip_prefix('{') {
                Some(group) => heads_of(group),
                None => first_word(rest).into_iter().collect(),
            });
        }
        imports.remove(part);
    }
    parts
}

/// The parts that are left after all were taken away that import none of the others: circles, and
/// what stands above them.
fn without_order(mut parts: Layers) -> Layers {
    loop {
        let is_free =
            |imports: &BTreeSet<String>| !imports.iter().any(|import| parts.contains_key(import));
        let free: Vec<String> = parts
            .iter()
            .filter(|(_, imports)| is_free(imports))
            .map(|(part, _)| part.clone())
            .collect();
        if free.is_empty() {
            return parts;
        }
        parts.retain(|part, _| !free.contains(part));
    }
}

#[test]
fn the_files_of_the_analysis_import_one_another_in_no_circle() {
    let circle = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "e")];
    let circle = circle.map(|(part, import)| (part.to_string(), [import.to_string()].into()));
    let left = without_order(circle.into());
    assert_eq!(left.keys().collect::<Vec<_>>(), ["a", "b"]);
    let parts = parts_of_analysis();
    assert!(parts.len() > 40 && parts["figure"].contains("interval"), "{parts:#?}");
    let left = without_order(parts);
    assert!(left.is_empty(), "in a circle, or above one: {left:#?}");
}

/// Attributes of code that only tests see.
const FOR_TESTS: [&str; 2] = ["#[cfg(test)]", r#"#[cfg(any(test, feature = "fixtures"))]"#];

/// A source file without what only tests see: `#[cfg(test)]` before a module in braces (which ends
/// at the next brace in the first column) or before one line. Modules in files of their own are
/// left out by [`test_files`].
fn code_of(source: &str) -> String {
    let (mut code, mut lines) = (String::new(), source.lines());
    while let Some(line) = lines.next() {
        if !FOR_TESTS.contains(&line.trim()) {
            code.push_str(line);
            code.push('\n');
        } else if lines.next().is_some_and(|item| item.ends_with('{')) {
            while lines.next().is_some_and(|line| line != "}") {}
        }
    }
    code
}

/// Files of modules that are declared for tests only, by the file that declares them.
fn test_files(file: &Path, source: &str) -> Vec<PathBuf> {
    let own = file.file_stem().unwrap();
    let dir = file.parent().unwrap();
    let dir = if own == "mod" || own == "lib" { dir.to_path_buf() } else { dir.join(own) };
    let for_tests = FOR_TESTS.iter().flat_map(|mark| source.split(mark).skip(1));
    let declared = for_tests.filter_map(|rest| {
        let item = rest.trim_start().lines().next()?.strip_suffix(';')?;
        Some(item.split_once("mod ")?.1)
    });
    declared.map(|name| dir.join(format!("{name}.rs"))).collect()
}

/// Every file of the crate that is not for tests only, with its code; read once for all guards.
fn shipped_code() -> &'static [(PathBuf, String)] {
    static CODE: OnceLock<Vec<(PathBuf, String)>> = OnceLock::new();
    CODE.get_or_init(read_shipped_code)
}

fn read_shipped_code() -> Vec<(PathBuf, String)> {
    let read = |file: PathBuf| (file.clone(), std::fs::read_to_string(file).unwrap());
    let all: Vec<(PathBuf, String)> = all_rust_files().into_iter().map(read).collect();
    let tests: BTreeSet<PathBuf> =
        all.iter().flat_map(|(file, source)| test_files(file, source)).collect();
    all.into_iter()
        .filter(|(file, _)| !tests.contains(file))
        .map(|(file, source)| (file, code_of(&source)))
        .collect()
}

/// The places that may make a reason: the layer that judges, and the type itself. The copy of a
/// result that is given away makes each reason anew in our own words.
const MAKERS_OF_REASONS: [&str; 3] = [
    "crates/dbdyno-core/src/analysis/",
    "crates/dbdyno-core/src/model/",
    "crates/dbdyno-report/src/anonymized/",
];

#[test]
fn reasons_of_verdicts_are_made_by_the_analysis_only() {
    let makers = shipped_code().iter().filter(|(_, code)| code.contains("Reason::new("));
    let (own, others): (Vec<&Path>, Vec<&Path>) =
        makers.map(|(file, _)| file.as_path()).partition(|file| {
            MAKERS_OF_REASONS.iter().any(|place| file.to_str().unwrap().starts_with(place))
        });
    assert!(own.len() > 10, "{own:?}");
    assert!(others.is_empty(), "a reason is made outside of the analysis: {others:?}");
}

/// Literals that are spelled like an engine without choosing by it.
const HARMLESS_NAMES: &[(&str, &str)] = &[
    // SQL's own null.
    ("crates/dbdyno-lab/src/export/workload.rs", "null"),
];

#[test]
fn no_module_outside_engine_and_server_spells_an_engines_name() {
    let mut broken = Vec::new();
    for (file, code) in shipped_code() {
        if ["engine", "server"].contains(&module_of(file).as_str()) {
            continue;
        }
        for name in [
            "sqlite",
            "postgres",
            "postgresql",
            "null",
            "mariadb",
            "mysql",
            "oracle",
            "duckdb",
            "chdb",
        ] {
            let is_harmless = HARMLESS_NAMES.contains(&(file.to_str().unwrap(), name));
            if code.contains(&format!("\"{name}\"")) && !is_harmless {
                broken.push(format!("{}: spells \"{name}\"", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

type Words = &'static [&'static str];

/// Words that name an engine or a kind of storage, where they belong (the beginnings of paths, and
/// the engines whose files of the catalog are its own), and how many other files may have them.
const NAMES: &[(Words, Words, Words, usize)] = &[
    (
        &["mariadb"],
        &["crates/dbdyno-engines/src/engine/mariadb/", "crates/dbdyno-lab/src/server/"],
        &["mariadb", "mysql"],
        8,
    ),
    (
        &["mysql"],
        &["crates/dbdyno-engines/src/engine/mariadb/", "crates/dbdyno-lab/src/server/"],
        &["mariadb", "mysql"],
        4,
    ),
    (
        &["postgres", "postgresql"],
        &["crates/dbdyno-engines/src/engine/postgres/", "crates/dbdyno-lab/src/server/"],
        &["postgres"],
        12,
    ),
    (&["sqlite", "rusqlite"], &["crates/dbdyno-engines/src/engine/sqlite"], &["sqlite"], 12),
    (&["oracle", "oracledb"], &["crates/dbdyno-engines/src/engine/oracle/"], &["oracle"], 8),
    (&["duckdb"], &["crates/dbdyno-engines/src/engine/duckdb/"], &["duckdb"], 6),
    (&["chdb", "clickhouse"], &["crates/dbdyno-engines/src/engine/chdb/"], &["chdb"], 6),
    (
        &["rocksdb", "myrocks", "lsm"],
        &["crates/dbdyno-engines/src/engine/mariadb/", "crates/dbdyno-lab/src/server/mariadb.rs"],
        &["mariadb", "mysql"],
        6,
    ),
];

/// All files below a directory.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// A file that the program is made of.
struct ShippedFile {
    path: PathBuf,
    /// Its text in small letters.
    text: String,
}

fn shipped_files() -> Vec<ShippedFile> {
    let mut paths = files_below(Path::new("catalog"));
    paths.extend(source_folders().iter().flat_map(|folder| files_below(folder)));
    paths.push("Cargo.toml".into());
    // What a publication may tell is a list, and the names of products are on it.
    paths.retain(|path| !path.starts_with("crates/dbdyno-report/src/anonymized"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?.to_ascii_lowercase();
        Some(ShippedFile { path, text })
    };
    paths.into_iter().filter_map(read).collect()
}

/// True if one of these words, which are in small letters, is a word of the text.
fn says_one_of(text: &str, words: &[&str]) -> bool {
    // Most texts have none of them: only the others are taken apart.
    words.iter().any(|word| text.contains(*word))
        && text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| words.contains(&word))
}

#[test]
fn an_engine_is_named_in_few_files_beside_its_own() {
    assert!(says_one_of("the name (oracle)", &["mysql", "oracle"]));
    assert!(!says_one_of("the oracles", &["mysql", "oracle"]));
    let shipped = shipped_files();
    for (words, places, engines, most) in NAMES {
        let own = |file: &Path| {
            let of_catalog = file.starts_with("catalog")
                && engines
                    .iter()
                    .any(|engine| file.file_stem().is_some_and(|stem| stem == *engine));
            of_catalog || places.iter().any(|place| file.to_str().unwrap().starts_with(place))
        };
        let naming = shipped.iter().filter(|file| says_one_of(&file.text, words));
        let (own, outside): (Vec<&Path>, Vec<&Path>) =
            naming.map(|file| file.path.as_path()).partition(|path| own(path));
        assert!(own.len() > 4, "{words:?}: {own:?}");
        assert!(outside.len() <= *most, "{words:?} in {} files: {outside:#?}", outside.len());
    }
}

/// The text between the bracket at the beginning of `source` and its counterpart.
fn in_brackets(source: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in source.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &source[1..at];
        }
    }
    source
}

/// Parts of a text between commas that are in no bracket.
fn parts_of(source: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in source.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if !source[..at].ends_with('-') => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&source[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&source[start..]);
    parts
}

/// Functions with a parameter that is a tuple and is taken apart where it is declared.
fn functions_with_tuple_parameters(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("fn ") {
        let head = &source[at + 3..];
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name: String = head.chars().take_while(|letter| is_of_name(*letter)).collect();
        let after = &head[name.len()..];
        // Bounds of type parameters have brackets of their own: `F: Fn(u8) -> u8`.
        let mut depth = 0;
        let begin = after.char_indices().find(|(at, letter)| {
            match letter {
                '<' => depth += 1,
                '>' if !after[..*at].ends_with('-') => depth -= 1,
                _ => {}
            }
            depth == 0 && *letter == '('
        });
        let Some((begin, _)) = begin.filter(|(begin, _)| *begin == 0 || after.starts_with('<'))
        else {
            continue;
        };
        let is_tuple = |part: &&str| part.trim().trim_start_matches('&').starts_with('(');
        if parts_of(in_brackets(&after[begin..])).iter().any(is_tuple) {
            found.push(name);
        }
    }
    found
}

/// A type with names holds what belongs together; what does not is parameters of its own.
#[test]
fn no_function_takes_a_tuple_apart_in_its_parameters() {
    // This file is looked at, too.
    let example = "FN a((x, y): (u8, u8)) {} FN b<F: Fn((u8, u8)) -> u8>(f: F, n: (u8, u8)) {} \
                   FN c2(&self, &(x, y): &(u8, u8)) {} FN d([x, y]: [u8; 2]) {}"
        .replace("FN", "fn");
    assert_eq!(functions_with_tuple_parameters(&example), ["a", "c2"]);
    let mut files = all_rust_files();
    files.extend(["tests", "tools"].iter().flat_map(|folder| rust_files(Path::new(folder))));
    let mut broken = Vec::new();
    for file in files {
        let found = functions_with_tuple_parameters(&std::fs::read_to_string(&file).unwrap());
        broken.extend(found.into_iter().map(|name| format!("{}: {name}", file.display())));
    }
    assert!(broken.is_empty(), "functions with tuples as parameters:\n{}", broken.join("\n"));
}

#[test]
fn the_guards_see_nested_imports_and_code_after_a_test_module() {
    let names = imports_of(
        "use crate::{catalog::{Catalog, x::{A, B}}, engine::C,\n    plan};\nuse crate::sql::{y};\n",
    );
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["catalog", "engine", "plan", "sql"]);
    let source = "#[cfg(test)]\nmod tests;\nuse a;\n#[cfg(test)]\npub(crate) mod own {\n    fn f() \
                  {\n    }\n}\nfn g() {}\n";
    assert_eq!(code_of(source), "use a;\nfn g() {}\n");
    assert_eq!(test_files(Path::new("src/plan/mod.rs"), source), [Path::new("src/plan/tests.rs")]);
    assert_eq!(test_files(Path::new("src/plan/x.rs"), source), [Path::new("src/plan/x/tests.rs")]);
}
