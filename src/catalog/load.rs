//! Puts the files of one catalogue into a `Catalog`, over what is there already.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::sql::{Block, BlockSet, parse_blocks};

use super::files::File;
use super::lookup::nearest;
use super::wire::{EffectsFile, GroupFile, line_of, read_toml};
use super::{Catalog, DataSet, Entry, Group, Profile, Suite, versions};

/// Adds `files`; what has the same id or name as before is replaced.
///
/// # Errors
/// `file:line` of what cannot be read, and of an id that comes twice within `files`.
pub(super) fn add_layer(catalog: &mut Catalog, files: &[File]) -> Result<()> {
    let mut folders: BTreeMap<(&str, &str), Vec<&File>> = BTreeMap::new();
    for file in files {
        match file.parts()[..] {
            [kind @ ("workloads" | "datasets"), folder, _] => folders.entry((kind, folder)).or_default().push(file),
            ["suites", _] => add_suite(catalog, file)?,
            ["profiles", _] => add_profile(catalog, file)?,
            ["harness", _] => add_harness(catalog, file)?,
            ["probes", _] => add_probes(catalog, file)?,
            ["export", name] => add_export(catalog, file, name)?,
            ["comparison", "effects.toml"] => add_effects(catalog, file)?,
            ["published", _] => super::published::add(&mut catalog.published, file)?,
            _ => return Err(misplaced(file)),
        }
    }
    let mut layer = Vec::new();
    for ((kind, folder), files) in folders {
        match kind {
            "workloads" => layer.extend(read_group(catalog, folder, &files)?),
            _ => add_dataset(catalog, folder, &files)?,
        }
    }
    add_entries(catalog, layer)
}

/// Refuses an SQL file that is named after none of `engines`: its blocks would be missed elsewhere.
///
/// # Errors
/// The file, with the nearest engine.
pub(super) fn only_of_engines(files: &[File], engines: &[&str]) -> Result<()> {
    for file in files.iter().filter(|file| file.path.ends_with(".sql")) {
        let common = matches!(file.parts()[0], "workloads" | "datasets").then_some(BlockSet::COMMON);
        let names: Vec<&str> = common.into_iter().chain(engines.iter().copied()).collect();
        let stem = file.stem();
        if !names.contains(&stem) {
            let advice = match nearest(stem, names.iter().copied()).first() {
                Some(near) => format!("did you mean {near}.sql?"),
                None => format!("name the file after one of these: {}", names.join(", ")),
            };
            return Err(Error::usage(&file.label, format!("'{stem}' is no engine")).advise(advice));
        }
    }
    Ok(())
}

fn misplaced(file: &File) -> Error {
    Error::usage(&file.label, "a catalogue has no file at this place").advise(
        "workloads and data sets stand in workloads/<group>/ and datasets/<name>/, the rest directly in its folder",
    )
}

/// The SQL files of a folder.
fn folder_blocks(files: &[&File]) -> Result<BlockSet> {
    let mut blocks = BlockSet::default();
    for file in files.iter().filter(|file| file.path.ends_with(".sql")) {
        blocks.add(file.stem(), parse_blocks(&file.label, &file.text)?)?;
    }
    Ok(blocks)
}

fn toml_of<'a>(files: &[&'a File], name: &str, folder: &str) -> Result<&'a File> {
    files.iter().copied().find(|file| file.path.ends_with(&format!("/{name}"))).ok_or_else(|| {
        let label = files.first().map_or(folder, |file| file.label.as_str());
        Error::usage(label, format!("there is no {name} beside this file"))
            .advise(format!("write {name} in the same folder"))
    })
}

fn read_group(catalog: &mut Catalog, folder: &str, files: &[&File]) -> Result<Vec<Entry>> {
    let toml = toml_of(files, "group.toml", folder)?;
    let blocks = Arc::new(folder_blocks(files)?);
    let group: GroupFile = read_toml(toml)?;
    catalog.groups.retain(|known| known.id != group.id);
    let GroupFile { id, title, about, order, form, workload } = group;
    catalog.groups.push(Group { id: id.clone(), title, about, order, form });
    let entry = |wire: super::wire::WorkloadEntry| {
        let place = format!("{}:{}", toml.label, line_of(&toml.text, wire.id.span().start));
        Entry { workload: wire.into_workload(&id), blocks: Arc::clone(&blocks), place }
    };
    Ok(workload.into_iter().map(entry).collect())
}

/// Adds the workloads of a layer; replaces those of lower layers.
fn add_entries(catalog: &mut Catalog, layer: Vec<Entry>) -> Result<()> {
    for (index, entry) in layer.iter().enumerate() {
        let id = &entry.workload.id;
        if let Some(earlier) = layer[..index].iter().find(|earlier| earlier.workload.id.eq_ignore_ascii_case(id)) {
            return Err(Error::usage(&entry.place, format!("workload {id} is already defined at {}", earlier.place)));
        }
    }
    for entry in layer {
        match catalog.entries.iter_mut().find(|known| known.workload.id == entry.workload.id) {
            Some(known) => *known = entry,
            None => catalog.entries.push(entry),
        }
    }
    catalog.groups.sort_by(|a, b| (a.order, &a.id).cmp(&(b.order, &b.id)));
    let rank: BTreeMap<_, _> =
        catalog.groups.iter().enumerate().map(|(rank, group)| (group.id.clone(), rank)).collect();
    catalog.entries.sort_by_key(|entry| rank.get(&entry.workload.group).copied());
    Ok(())
}

fn add_suite(catalog: &mut Catalog, file: &File) -> Result<()> {
    let suite: Suite = read_toml(file)?;
    same_as_file_name(file, &suite.id)?;
    catalog.suites.retain(|known| known.id != suite.id);
    catalog.suites.push(suite);
    catalog.suites.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(())
}

fn add_profile(catalog: &mut Catalog, file: &File) -> Result<()> {
    let profile: Profile = read_toml(file)?;
    same_as_file_name(file, &profile.id)?;
    catalog.profiles.retain(|known| known.id != profile.id);
    catalog.profiles.push(profile);
    catalog.profiles.sort_by(|a, b| a.size_gb.total_cmp(&b.size_gb));
    Ok(())
}

/// Rules of a later layer are looked at first.
fn add_effects(catalog: &mut Catalog, file: &File) -> Result<()> {
    let EffectsFile { effect } = read_toml(file)?;
    catalog.effects.splice(0..0, effect);
    Ok(())
}

fn same_as_file_name(file: &File, id: &str) -> Result<()> {
    if file.stem().eq_ignore_ascii_case(id) {
        return Ok(());
    }
    Err(Error::usage(format!("{}:1", file.label), format!("the id '{id}' differs from the file's name")))
}

fn add_dataset(catalog: &mut Catalog, name: &str, files: &[&File]) -> Result<()> {
    let toml = toml_of(files, "dataset.toml", name)?;
    let (text, path) = (toml.text.clone(), toml.label.clone());
    let dataset = DataSet { name: name.into(), toml: text, toml_path: path, blocks: folder_blocks(files)? };
    catalog.datasets.insert(name.into(), dataset);
    Ok(())
}

/// Harness blocks replace those of the same name one by one.
fn add_harness(catalog: &mut Catalog, file: &File) -> Result<()> {
    let engine = catalog.harness.entry(file.stem().to_string()).or_default();
    engine.extend(parse_blocks(&file.label, &file.text)?.into_iter().map(|block| (block.name.clone(), block)));
    Ok(())
}

/// Blocks of an engine's scripts, and templates of any engine: a file replaces the one of the same name.
fn add_export(catalog: &mut Catalog, file: &File, name: &str) -> Result<()> {
    if name.ends_with(".sql") {
        catalog.export.insert(file.stem().to_string(), parse_blocks(&file.label, &file.text)?);
    } else {
        catalog.templates.insert(name.to_string(), file.text.clone());
    }
    Ok(())
}

/// Probe blocks replace those of the same name, all versions of them.
fn add_probes(catalog: &mut Catalog, file: &File) -> Result<()> {
    let blocks: Vec<Block> = parse_blocks(&file.label, &file.text)?;
    blocks.iter().try_for_each(versions::check)?;
    let engine = catalog.probes.entry(file.stem().to_string()).or_default();
    engine.retain(|known| !blocks.iter().any(|block| block.name == known.name));
    engine.extend(blocks);
    Ok(())
}
