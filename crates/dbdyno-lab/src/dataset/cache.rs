//! A table in caches: read into that of the database, and its files on this host, for who keeps
//! them out of the system's.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use dbdyno_core::error::{Error, Result, quote};
use dbdyno_engines::engine::rows_of;

use super::{Site, Table};

/// Characters that may follow a table's path in the names of its files: segments and endings,
/// partitions, a log beside the file.
const CONTINUATIONS: [char; 3] = ['.', '#', '-'];

/// Reads the whole table and all its indexes: by the engine's direct call (`warm.fast`) if it works
/// here, else by the reads of the blocks `warm.read.*`. Whether it helped is checked by the
/// workload's contract.
///
/// # Errors
/// The engine's, from the reads.
pub fn warm(site: &Site<'_>, table: &Table) -> Result<()> {
    let values = table.values(&site.recipe);
    let fast = site.recipe.sql("warm.fast", &values)?;
    let sessions = || site.db.node_sessions().map_err(|error| site.to_error(error));
    for (node, mut session) in sessions()? {
        let warmed = fast.as_ref().map(|sql| rows_of(session.as_mut(), sql));
        let mut session = match warmed {
            Some(Ok(rows)) if rows.scalar().is_some() => continue,
            // A failed statement may have spoiled a session's settings or transaction: the slow
            // way starts afresh.
            Some(Err(_)) => match sessions()?.into_iter().find(|(name, _)| *name == node) {
                Some((_, afresh)) => afresh,
                None => continue,
            },
            Some(Ok(_)) | None => session,
        };
        site.query(session.as_mut(), "warm.session", &values)?;
        for name in site.recipe.names("warm.read.") {
            site.query(session.as_mut(), &name, &values)?;
        }
    }
    Ok(())
}

/// The files of a table and its indexes, as the block `files` names them relative to the database's
/// storage path; none if the database is not on this host, or does not report it.
///
/// # Errors
/// The engine's; a name that leads out of the storage path.
pub fn files(site: &Site<'_>, table: &Table) -> Result<Vec<PathBuf>> {
    files_of(site, table, "files")
}

/// Those of the files that the database reads and writes through the operating system's cache: the
/// block `files-of-system-cache`, or all of them if the engine has none.
///
/// # Errors
/// The engine's.
pub fn system_cached_files(site: &Site<'_>, table: &Table) -> Result<Vec<PathBuf>> {
    const BLOCK: &str = "files-of-system-cache";
    let has_own = site.recipe.names(BLOCK).iter().any(|name| name == BLOCK);
    files_of(site, table, if has_own { BLOCK } else { "files" })
}

fn files_of(site: &Site<'_>, table: &Table, block: &str) -> Result<Vec<PathBuf>> {
    let Some(storage) = site.db.storage_path() else { return Ok(Vec::new()) };
    let mut session = site.session()?;
    let rows = site.query(session.as_mut(), block, &table.values(&site.recipe))?;
    let mut files = Vec::new();
    for name in rows.rows.iter().filter_map(|row| row.first()?.as_deref()) {
        let path = within(&storage, name).ok_or_else(|| {
            let what = format!("the database names {} as a file of its own", quote(name));
            Error::target(storage.display().to_string(), what)
                .advise("find out who can change what this server reports")
        })?;
        files.extend(named_as(&path));
    }
    Ok(files)
}

/// The path of a file within the storage path, which an empty name means itself. None if the name
/// leads out of it: what a server says must not choose among the other files of this host.
fn within(storage: &Path, name: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return Some(storage.to_path_buf());
    }
    let path = storage.join(name);
    let below = path.strip_prefix(storage).ok()?;
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    below.components().all(is_below).then_some(path)
}

/// The file of this path, and those beside it whose names go on from its name; of numbered ones the
/// last first.
fn named_as(path: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str))
    else {
        return Vec::new();
    };
    let goes_on = |found: &str| {
        found
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(CONTINUATIONS))
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(goes_on));
    let mut ours: Vec<PathBuf> = ours.map(|entry| entry.path()).collect();
    ours.sort_by_key(|path| std::cmp::Reverse((path.as_os_str().len(), path.clone())));
    ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_out_of_the_storage_path_is_none_of_a_file() {
        let within = |name| within(Path::new("/data"), name);
        let expected = |path: &str| Some(PathBuf::from(path));
        assert_eq!(within("base/5/16384"), expected("/data/base/5/16384"));
        assert_eq!(within("./#engine/1.sst"), expected("/data/./#engine/1.sst"));
        assert_eq!(within("/data/#engine/1.sst"), expected("/data/#engine/1.sst"));
        assert_eq!(within(""), expected("/data"));
        for name in ["../etc/shadow", "base/../../etc/shadow", "/etc/shadow", "..", "/data/../etc"]
        {
            assert_eq!(within(name), None, "{name}");
        }
    }

    #[test]
    fn segments_partitions_and_logs_belong_to_a_table_and_other_tables_do_not() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "16384",
            "16384.1",
            "16384.2",
            "16384.10",
            "16384_fsm",
            "163845",
            "big.ibd",
            "big#P#p0.ibd",
            "big_iot_list.ibd",
            "x.db",
            "x.db-wal",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = |name: &str| {
            let paths = named_as(&dir.path().join(name));
            paths
                .into_iter()
                .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(found("16384"), ["16384.10", "16384.2", "16384.1", "16384"]);
        assert_eq!(found("big"), ["big#P#p0.ibd", "big.ibd"]);
        assert_eq!(found("x.db"), ["x.db-wal", "x.db"]);
        assert_eq!(found("gone"), Vec::<String>::new());
    }
}
