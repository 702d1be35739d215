//! Puts the files of one catalog into a `Catalog`, over what is there already.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;

use crate::error::{Error, Result, quote};
use crate::model::Workload;
use crate::sql::{Block, BlockSet, parse_blocks};

use super::files::{File, with_lent};
use super::inherit::{self, Common, CommonFiles, PlacedGroup};
use super::lookup::nearest;
use super::wire::{EffectsFile, EngineFile, GroupFile, OnEngine, line_of, read_toml};
use super::{Catalog, DataSet, Entry, Group, Suite, check_claims, profiles, versions};

/// Adds `files`; what has the same id or name as before is replaced.
///
/// # Errors
/// `file:line` of what cannot be read, and of an id that comes twice within `files`.
pub(super) fn add_layer(catalog: &mut Catalog, files: &[File]) -> Result<()> {
    files
        .iter()
        .filter(|file| file.parts()[0] == "engines")
        .try_for_each(|file| add_engine(catalog, file))?;
    let likes = catalog
        .engine_files
        .iter()
        .filter_map(|(name, file)| Some((name.clone(), file.like.clone()?)));
    let files = &with_lent(files, &likes.collect());
    let mut folders: BTreeMap<(&str, &str), Vec<&File>> = BTreeMap::new();
    let mut shared: Vec<&File> = Vec::new();
    for file in files {
        match file.parts()[..] {
            ["workloads", inherit::COMMON] => catalog.common.push(file.clone()),
            ["workloads", name] if name.ends_with(".sql") => shared.push(file),
            [kind @ ("workloads" | "datasets"), folder, _] => {
                folders.entry((kind, folder)).or_default().push(file)
            }
            ["suites", _] => add_suite(catalog, file)?,
            ["profiles", _] => profiles::add(catalog, file)?,
            ["harness", _] => add_blocks(&mut catalog.harness, file)?,
            ["failover", _] => add_blocks(&mut catalog.failover, file)?,
            ["probes", _] => add_probes(catalog, file)?,
            ["engines", _] => {}
            ["export", name] => add_export(catalog, file, name)?,
            ["comparison", "effects.toml"] => add_effects(catalog, file)?,
            ["disclosure", "facts.toml"] => super::facts::add(&mut catalog.statable, file)?,
            ["published", _] => super::published::add(&mut catalog.published, file)?,
            _ => return Err(misplaced(file)),
        }
    }
    profiles::map(catalog)?;
    catalog.shared = Arc::new(folder_blocks(&shared)?.over(&catalog.shared));
    let common_files = CommonFiles::new(&catalog.common);
    let common = common_files.read()?;
    let mut layer = Vec::new();
    for ((kind, folder), files) in folders {
        match kind {
            "workloads" => layer.extend(read_group(catalog, &common, folder, &files)?),
            _ => add_dataset(catalog, folder, &files)?,
        }
    }
    add_entries(catalog, layer)?;
    check_claims::resolve(catalog);
    Ok(())
}

/// Refuses a file that must be named after one of `engines` and is not: its content would be
/// ignored.
///
/// # Errors
/// The file, with the nearest engine.
pub(super) fn only_of_engines(files: &[File], engines: &[&str]) -> Result<()> {
    let of_engine = |file: &&File| match file.parts()[..] {
        ["workloads", _, name] if name.ends_with(".toml") => name != GROUP,
        [folder, ..] => folder == "engines" || file.path.ends_with(".sql"),
        [] => false,
    };
    for file in files.iter().filter(of_engine) {
        let sql = file.path.ends_with(".sql");
        let common = (sql && matches!(file.parts()[0], "workloads" | "datasets"))
            .then_some(BlockSet::COMMON);
        let names: Vec<&str> = common.into_iter().chain(engines.iter().copied()).collect();
        let stem = file.stem();
        if !names.contains(&stem) {
            let advice = match nearest(stem, names.iter().copied()).first() {
                Some(near) => format!("did you mean {near}.{}?", if sql { "sql" } else { "toml" }),
                None => format!("name the file after one of these: {}", names.join(", ")),
            };
            return Err(Error::usage(&file.label, format!("{} is not an engine", quote(stem)))
                .advise(advice));
        }
    }
    Ok(())
}

fn misplaced(file: &File) -> Error {
    Error::usage(&file.label, "a catalog has no such file").advise(
        "workloads and data sets belong in workloads/<group>/ and datasets/<name>/, the rest \
         directly in its folder",
    )
}

/// The SQL files of a folder; blocks of an engine's own replace those that it takes from another
/// one.
fn folder_blocks(files: &[&File]) -> Result<BlockSet> {
    let mut blocks = BlockSet::default();
    let (lent, own): (Vec<&File>, Vec<&File>) =
        files.iter().filter(|file| file.path.ends_with(".sql")).partition(|file| file.lent);
    for file in own {
        blocks.add(file.stem(), parse_blocks(&file.label, &file.text)?)?;
    }
    for file in lent {
        blocks.add_below(file.stem(), parse_blocks(&file.label, &file.text)?);
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

/// Name of a group's file, which is in the folder with the file of each engine.
const GROUP: &str = "group.toml";
/// Entry of an engine's file that stands for all workloads of the group.
const EVERY: &str = "every";

fn read_group(
    catalog: &mut Catalog,
    common: &Common<'_>,
    folder: &str,
    files: &[&File],
) -> Result<Vec<Entry>> {
    let toml = toml_of(files, GROUP, folder)?;
    let blocks = Arc::new(folder_blocks(files)?.over(&catalog.shared));
    let PlacedGroup { group: file, places } = inherit::group(common, toml)?;
    catalog.groups.retain(|known| known.id != file.id);
    let GroupFile { id, title, about, order, form, tile, workload } = file;
    let mut group = Group { id: id.clone(), title, about, order, form, tile };
    let entry = |wire: super::wire::WorkloadEntry| {
        let place = places.locate(wire.id.span().start);
        let workload = wire.into_workload(&id);
        let written = [workload.contract.clone(), workload.crosscheck.clone()];
        Entry { workload, written, blocks: Arc::clone(&blocks), place }
    };
    let mut entries: Vec<Entry> = workload.into_iter().map(entry).collect();
    for file in
        files.iter().filter(|file| file.path.ends_with(".toml") && !file.path.ends_with(GROUP))
    {
        on_engine(file, &mut group, &mut entries)?;
    }
    catalog.groups.push(group);
    Ok(entries)
}

/// Reads what an engine cannot do of a group, or does in another way.
fn on_engine(file: &File, group: &mut Group, entries: &mut [Entry]) -> Result<()> {
    let read: BTreeMap<Spanned<String>, OnEngine> = read_toml(file)?;
    for (id, on_engine) in read {
        let wrong = |what| {
            Error::usage(format!("{}:{}", file.label, line_of(&file.text, id.span().start)), what)
        };
        let (id, every) = (id.get_ref(), id.get_ref() == EVERY);
        let workloads = entries.iter_mut().map(|entry| &mut entry.workload);
        let mut affected: Vec<&mut Workload> =
            workloads.filter(|workload| every || workload.id == *id).collect();
        if affected.is_empty() {
            return Err(wrong(format!("{} has no workload '{id}'", group.id))
                .advise(format!("see {GROUP} beside it")));
        }
        on_engine
            .apply(file.stem(), &mut affected)
            .map_err(|what| wrong(format!("{id}: {what}")))?;
        let about = match affected.as_mut_slice() {
            [workload] if !every => &mut workload.about,
            _ => &mut group.about,
        };
        on_engine
            .about
            .iter()
            .filter(|_| !file.lent)
            .for_each(|prose| about.push_str(&format!("\n{}", prose.trim())));
    }
    Ok(())
}

/// Adds the workloads of a layer; replaces those of lower layers.
fn add_entries(catalog: &mut Catalog, layer: Vec<Entry>) -> Result<()> {
    for (index, entry) in layer.iter().enumerate() {
        let id = &entry.workload.id;
        if let Some(earlier) =
            layer[..index].iter().find(|earlier| earlier.workload.id.eq_ignore_ascii_case(id))
        {
            return Err(Error::usage(
                &entry.place,
                format!("workload {id} is already defined at {}", earlier.place),
            ));
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

/// Rules of a later layer are looked at first.
fn add_effects(catalog: &mut Catalog, file: &File) -> Result<()> {
    let EffectsFile { effect } = read_toml(file)?;
    catalog.effects.splice(0..0, effect);
    Ok(())
}

pub(super) fn same_as_file_name(file: &File, id: &str) -> Result<()> {
    if file.stem().eq_ignore_ascii_case(id) {
        return Ok(());
    }
    Err(Error::usage(
        format!("{}:1", file.label),
        format!("the id {} differs from the file's name", quote(id)),
    ))
}

fn add_dataset(catalog: &mut Catalog, name: &str, files: &[&File]) -> Result<()> {
    let toml = toml_of(files, "dataset.toml", name)?;
    let (text, path) = (toml.text.clone(), toml.label.clone());
    let dataset =
        DataSet { name: name.into(), toml: text, toml_path: path, blocks: folder_blocks(files)? };
    catalog.datasets.insert(name.into(), dataset);
    Ok(())
}

/// Adds an engine's file, which replaces the one before. The versions that are confirmed and the
/// files that it takes remain if the new file does not state them.
fn add_engine(catalog: &mut Catalog, file: &File) -> Result<()> {
    let mut read: EngineFile = read_toml(file)?;
    let wrong = read.confirmed.iter().find(|confirmed| confirmed.numbers().is_none());
    if let Some(wrong) = wrong {
        let what = format!("{} is not a valid version", quote(&wrong.version));
        return Err(Error::usage(&file.label, what).advise("write numbers with dots: 14 or 10.6"));
    }
    let known = catalog.engine_files.entry(file.stem().to_string()).or_default();
    if read.confirmed.is_empty() {
        read.confirmed = std::mem::take(&mut known.confirmed);
    }
    read.like = read.like.or(known.like.take());
    *known = read;
    Ok(())
}

/// Blocks of an engine replace those of the same name one by one.
fn add_blocks(engines: &mut BTreeMap<String, BTreeMap<String, Block>>, file: &File) -> Result<()> {
    let engine = engines.entry(file.stem().to_string()).or_default();
    engine.extend(
        parse_blocks(&file.label, &file.text)?.into_iter().map(|block| (block.name.clone(), block)),
    );
    Ok(())
}

/// Blocks of an engine's scripts, and templates of any engine: a file replaces the one of the same
/// name.
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
