//! A data set and the disk, before anything is created.

use std::path::Path;

use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::rows::{ROW_BYTES, table_rows};
use dbdyno_core::model::{DataFiles, TableRef};
use dbdyno_engines::host::{file_size_limit, free_bytes};

/// Stored bytes per byte of row data: indexes, log, sort files of index builds.
const OVERHEAD: f64 = 2.2;
/// Left free in any case, bytes.
const MARGIN: u64 = 200_000_000;

/// Free bytes on a device that a load has filled: a server gives them back when it ends.
const USED_UP: u64 = 16_000_000;

/// True if nothing to speak of is free where the database's files are; false if that is not known.
pub fn is_used_up(storage: Option<&Path>) -> bool {
    storage.and_then(free_bytes).is_some_and(|free| free < USED_UP)
}

/// Bytes that loading these tables at a nominal size needs at most.
pub fn data_bytes(tables: &[TableRef], size_gb: f64) -> u64 {
    bytes_of_rows(tables.iter().map(|table| table_rows(&table.kind, size_gb)).sum())
}

fn bytes_of_rows(rows: u64) -> u64 {
    (rows as f64 * ROW_BYTES as f64 * OVERHEAD) as u64 + MARGIN
}

/// Fails if there is too little space for so many more rows where the database's files are; passes
/// if that is not known. `label` names the target.
///
/// # Errors
/// Of the target, with both figures.
pub fn check_load(rows: u64, storage: Option<&Path>, label: &str) -> Result<()> {
    let Some((path, free)) = storage.and_then(|path| Some((path, free_bytes(path)?))) else {
        return Ok(());
    };
    let needed = bytes_of_rows(rows);
    if needed <= free {
        return Ok(());
    }
    let mb = |bytes: u64| bytes / 1_000_000;
    let what =
        format!("loading needs {} MB, {} has {} MB free", mb(needed), path.display(), mb(free));
    Err(Error::target(label, what).advise("choose a smaller --size or another --data-dir"))
}

/// Stored bytes of a row at least, in a file of all tables with their indexes.
const ROW_BYTES_OF_ALL: u64 = 280;
/// Stored bytes of a row at least, in a file of its table.
const ROW_BYTES_OF_TABLE: u64 = 300;

/// Fails if tables of so many rows need a longer file than these processes of the database can
/// write; without processes it is our own that writes. `label` names the target.
///
/// # Errors
/// Of the target, with both figures.
pub fn check_file_size(
    rows: &[u64],
    files: DataFiles,
    processes: &[u32],
    label: &str,
) -> Result<()> {
    file_fits(longest_file(rows, files), file_size_limit(processes), label)
}

/// Bytes of the longest file of tables of so many rows, at least; none if nobody knows before.
fn longest_file(rows: &[u64], files: DataFiles) -> Option<u64> {
    match files {
        DataFiles::One => Some(rows.iter().sum::<u64>() * ROW_BYTES_OF_ALL),
        DataFiles::OfTable { most_bytes } => {
            let longest = rows.iter().max().map(|rows| rows * ROW_BYTES_OF_TABLE);
            longest.map(|bytes| bytes.min(most_bytes))
        }
        DataFiles::OfParts => None,
    }
}

fn file_fits(longest: Option<u64>, limit: Option<u64>, label: &str) -> Result<()> {
    let Some((longest, limit)) = longest.zip(limit).filter(|(longest, limit)| longest > limit)
    else {
        return Ok(());
    };
    let mb = |bytes: u64| bytes / 1_000_000;
    let what = format!(
        "loading writes a file of {} MB or more, and the database can write none of more than {} \
         MB (ulimit -f)",
        mb(longest),
        mb(limit)
    );
    Err(Error::target(label, what).advise("raise that limit, or choose a smaller --size"))
}

/// Checks that this many bytes can be written in a directory, which need not exist yet; the error
/// says how much is free and needed.
///
/// # Errors
/// Of the target: too little space, not a directory, not writable.
pub fn check_space(path: &Path, needed_bytes: u64) -> Result<String> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    if !existing.is_dir() {
        return Err(Error::target(
            path.display().to_string(),
            format!("{} is not a directory", existing.display()),
        )
        .advise("choose another --data-dir"));
    }
    let unknown =
        || Error::target(existing.display().to_string(), "its free space cannot be determined");
    let free_bytes = free_bytes(existing).ok_or_else(unknown)?;
    let [free_gb, needed_gb] = [free_bytes, needed_bytes].map(|bytes| bytes as f64 / 1e9);
    let text = format!("{free_gb:.1} GB free in {}, {needed_gb:.1} GB needed", path.display());
    if free_bytes < needed_bytes {
        return Err(Error::target(path.display().to_string(), text)
            .advise("free some space, or choose a smaller --size or another --data-dir"));
    }
    if rustix::fs::access(existing, rustix::fs::Access::WRITE_OK).is_err() {
        return Err(Error::target(existing.display().to_string(), "is not writable")
            .advise("choose another --data-dir"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_rows_need_660_mb_and_the_margin() {
        assert_eq!(bytes_of_rows(1_000_000), 860_000_000);
        assert_eq!(data_bytes(&[TableRef::new("big")], 1.0), 860_000_000);
    }

    #[test]
    fn a_file_that_may_not_be_so_long_is_said_with_both_figures() {
        let rows = [100_000, 1_000_000];
        let of_tables = |most_bytes: u64| longest_file(&rows, DataFiles::OfTable { most_bytes });
        assert_eq!(longest_file(&rows, DataFiles::One), Some(308_000_000));
        assert_eq!(of_tables(u64::MAX), Some(300_000_000));
        assert_eq!(of_tables(1 << 20), Some(1 << 20));
        assert_eq!(longest_file(&rows, DataFiles::OfParts), None);
        let error = file_fits(Some(308_000_000), Some(20_480_000), "here").unwrap_err();
        let said = "here: loading writes a file of 308 MB or more, and the database can write none \
                    of more than 20 MB (ulimit -f); raise that limit, or choose a smaller --size";
        assert_eq!(error.to_string(), said);
        assert_eq!(file_fits(Some(20_480_000), Some(20_480_000), "here"), Ok(()));
        assert_eq!(file_fits(Some(u64::MAX), None, "here"), Ok(()));
        assert_eq!(file_fits(None, Some(1), "here"), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_said_with_both_figures() {
        let dir = tempfile::tempdir().unwrap();
        let error =
            check_load(u64::MAX / 1_000_000, Some(dir.path()), "here").unwrap_err().to_string();
        assert!(
            error.starts_with("here: loading needs ")
                && error.contains(" MB free; choose a smaller"),
            "{error}"
        );
        assert_eq!(
            check_load(u64::MAX / 1_000_000, None, "elsewhere"),
            Ok(()),
            "what is not known refuses nothing"
        );
        assert!(check_space(&dir.path().join("a/b"), 1).unwrap().ends_with("b, 0.0 GB needed"));
        let error = check_space(dir.path(), u64::MAX).unwrap_err().to_string();
        assert!(error.contains(" GB free in ") && error.contains("free some space"), "{error}");
    }
}
