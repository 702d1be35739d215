//! Where catalogue files come from: the binary itself, or a directory of the user.

use std::path::Path;

use include_dir::{Dir, DirEntry, include_dir};

use crate::error::{Error, Result};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/catalog");

/// A text file of a catalogue.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Path within the catalogue with `/`: `workloads/srv/group.toml`.
    pub path: String,
    /// Path as messages name it.
    pub label: String,
    pub text: String,
}

impl File {
    /// The path's parts: `["workloads", "srv", "group.toml"]`.
    pub fn parts(&self) -> Vec<&str> {
        self.path.split('/').collect()
    }
    /// File name without its extension.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// The catalogue in the binary.
pub(super) fn embedded() -> Vec<File> {
    let mut files = Vec::new();
    collect_embedded(&EMBEDDED, &mut files);
    sorted(files)
}

fn collect_embedded(dir: &Dir<'_>, files: &mut Vec<File>) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => collect_embedded(dir, files),
            DirEntry::File(file) => {
                let path = file.path().to_string_lossy().replace('\\', "/");
                if let (true, Some(text)) = (is_catalogue_file(&path), file.contents_utf8()) {
                    files.push(File { label: format!("catalog/{path}"), path, text: text.into() });
                }
            }
        }
    }
}

/// The catalogue in a directory.
///
/// # Errors
/// If it cannot be read or holds no catalogue file.
pub(super) fn from_dir(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    collect_dir(root, root, &mut files)?;
    if files.is_empty() {
        return Err(Error::usage(root.display().to_string(), "no catalogue file in this directory")
            .advise("it needs workloads/<group>/group.toml or another folder of a catalogue"));
    }
    Ok(sorted(files))
}

fn collect_dir(root: &Path, dir: &Path, files: &mut Vec<File>) -> Result<()> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Error::usage(path.display().to_string(), format!("cannot be read ({error})")).advise("check --catalog")
    };
    for entry in std::fs::read_dir(dir).map_err(|error| unreadable(dir, error))? {
        let path = entry.map_err(|error| unreadable(dir, error))?.path();
        if path.is_dir() {
            collect_dir(root, &path, files)?;
        } else if let Some(relative) = relative_path(root, &path).filter(|path| is_catalogue_file(path)) {
            let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
            files.push(File { path: relative, label: path.display().to_string(), text });
        }
    }
    Ok(())
}

fn relative_path(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/"))
}

/// TOML and SQL files in one of the catalogue's folders; templates of exported scripts too.
fn is_catalogue_file(path: &str) -> bool {
    let folder = path.split('/').next().unwrap_or_default();
    let data = path.ends_with(".toml") || path.ends_with(".sql");
    match folder {
        "workloads" | "suites" | "profiles" | "datasets" | "harness" | "probes" | "published" | "comparison" => data,
        "export" => data || path.ends_with(".sh") || path.ends_with(".md"),
        _ => false,
    }
}

fn sorted(mut files: Vec<File>) -> Vec<File> {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
