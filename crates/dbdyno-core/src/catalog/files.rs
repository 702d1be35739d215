//! Sources of catalog files: the binary itself, or a directory of the user.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;

use include_dir::{Dir, DirEntry, include_dir};

use crate::error::{Error, Result};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/catalog");

/// The folders of a catalog.
const FOLDERS: [&str; 12] = [
    "workloads",
    "suites",
    "profiles",
    "datasets",
    "harness",
    "probes",
    "engines",
    "published",
    "comparison",
    "disclosure",
    "export",
    "failover",
];
/// Directories above a file within a catalog: `workloads/<group>`.
const MAX_DIRS: usize = 2;
const MB: u64 = 1_000_000;
/// Maximum size of a file of a catalog, in bytes; dbdyno's own have less than a hundredth of it.
const MAX_BYTES: u64 = 4 * MB;
/// All files together.
const MAX_TOTAL_BYTES: u64 = 64 * MB;
const MAX_FILES: usize = 10_000;

/// A text file of a catalog.
#[derive(Debug, Clone)]
pub(super) struct File {
    /// Path within the catalog with `/`: `workloads/srv/group.toml`.
    pub path: String,
    /// Path as messages name it.
    pub label: String,
    pub text: String,
    /// True if the file belongs to another engine, whose file this engine uses because it has none.
    pub lent: bool,
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
    /// The file as that of another engine, which has none such of its own.
    fn lent_to(&self, engine: &str) -> File {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let (dir, ending) = (
            &self.path[..self.path.len() - name.len()],
            name.rsplit('.').next().unwrap_or_default(),
        );
        File { path: format!("{dir}{engine}.{ending}"), lent: true, ..self.clone() }
    }
}

/// Folders in which an engine may use the files of another one.
const LENDING: [&str; 3] = ["workloads", "datasets", "harness"];

/// The files with those that engines take from others (`likes`: each with the other's name): SQL
/// files before their own, which need hold only the blocks that differ, other files where they have
/// none of their own.
pub(super) fn with_lent(files: &[File], likes: &BTreeMap<String, String>) -> Vec<File> {
    let mut all = Vec::new();
    for (engine, other) in likes {
        let of_other =
            files.iter().filter(|file| LENDING.contains(&file.parts()[0]) && file.stem() == other);
        let lent = of_other.map(|file| file.lent_to(engine));
        let has_own = |lent: &File| files.iter().any(|file| file.path == lent.path);
        all.extend(lent.filter(|lent| lent.path.ends_with(".sql") || !has_own(lent)));
    }
    all.extend_from_slice(files);
    sorted(all)
}

/// The catalog in the binary.
pub(super) fn embedded() -> Vec<File> {
    let mut files = Vec::new();
    collect_embedded(&EMBEDDED, "", &mut files);
    sorted(files)
}

/// The catalog within a folder of the one in the binary.
pub(super) fn embedded_in(folder: &str) -> Vec<File> {
    let mut files = Vec::new();
    EMBEDDED.get_dir(folder).into_iter().for_each(|dir| collect_embedded(dir, folder, &mut files));
    sorted(files)
}

/// The files of a folder, named as seen from `root`.
fn collect_embedded(dir: &Dir<'_>, root: &str, files: &mut Vec<File>) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(dir) => collect_embedded(dir, root, files),
            DirEntry::File(file) => {
                let whole = file.path().to_string_lossy().replace('\\', "/");
                let path =
                    whole.strip_prefix(root).unwrap_or(&whole).trim_start_matches('/').to_string();
                if let (true, Some(text)) = (is_catalog_file(&path), file.contents_utf8()) {
                    files.push(File {
                        label: format!("catalog/{whole}"),
                        path,
                        text: text.into(),
                        lent: false,
                    });
                }
            }
        }
    }
}

/// The catalog in a directory.
///
/// # Errors
/// If it cannot be read or holds no catalog file.
pub(super) fn from_dir(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    collect_dir(root, root, &mut files)?;
    if files.is_empty() {
        return Err(Error::usage(root.display().to_string(), "no catalog file in this directory")
            .advise("it needs workloads/<group>/group.toml or another folder of a catalog"));
    }
    Ok(sorted(files))
}

/// Reads what belongs to a catalog, in its folders only and as deep as they go: a link that leads
/// back ends there.
fn collect_dir(root: &Path, dir: &Path, files: &mut Vec<File>) -> Result<()> {
    for entry in std::fs::read_dir(dir).map_err(|error| unreadable(dir, &error))? {
        let path = entry.map_err(|error| unreadable(dir, &error))?.path();
        let Some(relative) = relative_path(root, &path).filter(|path| is_of_catalog(path)) else {
            continue;
        };
        if path.is_dir() {
            check_depth(&path, &relative)?;
            collect_dir(root, &path, files)?;
        } else if is_catalog_file(&relative) {
            let text = text_of(&path)?;
            files.push(File {
                path: relative,
                label: path.display().to_string(),
                text,
                lent: false,
            });
            check_total(root, files)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::usage(path.display().to_string(), format!("cannot be read ({error})"))
        .advise("check --catalog")
}

/// Whatever is hidden is somebody else's: of an editor, of version control.
fn is_of_catalog(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.clone().next().is_some_and(|folder| FOLDERS.contains(&folder))
        && !parts.any(|part| part.starts_with('.'))
}

fn check_depth(path: &Path, relative: &str) -> Result<()> {
    if relative.split('/').count() <= MAX_DIRS {
        return Ok(());
    }
    Err(Error::usage(path.display().to_string(), "a catalog has no such directory")
        .advise("move its files up, or remove it"))
}

/// The text of a regular file of a possible size: a pipe would never end.
fn text_of(path: &Path) -> Result<String> {
    let data = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    let refused = |what: String| {
        Error::usage(path.display().to_string(), what).advise("remove it from the catalog")
    };
    if !data.is_file() {
        return Err(refused("is not a regular file".into()));
    }
    if data.len() > MAX_BYTES {
        return Err(refused(format!(
            "has {} MB, a file of a catalog has at most {}",
            data.len() / MB,
            MAX_BYTES / MB
        )));
    }
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => refused("is not a text in UTF-8".into()),
        _ => unreadable(path, &error),
    })
}

fn check_total(root: &Path, files: &[File]) -> Result<()> {
    let bytes: u64 = files.iter().map(|file| file.text.len() as u64).sum();
    if files.len() <= MAX_FILES && bytes <= MAX_TOTAL_BYTES {
        return Ok(());
    }
    let what = format!("holds more than {MAX_FILES} files or {} MB", MAX_TOTAL_BYTES / MB);
    Err(Error::usage(root.display().to_string(), what)
        .advise("name the directory of a catalog with --catalog"))
}

fn relative_path(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/"))
}

/// TOML and SQL files in one of the catalog's folders; templates of exported scripts too.
fn is_catalog_file(path: &str) -> bool {
    let of_scripts =
        path.starts_with("export/") && (path.ends_with(".sh") || path.ends_with(".md"));
    is_of_catalog(path) && (path.ends_with(".toml") || path.ends_with(".sql") || of_scripts)
}

fn sorted(mut files: Vec<File>) -> Vec<File> {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
