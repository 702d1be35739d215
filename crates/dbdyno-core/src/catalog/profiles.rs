//! Size profiles: one table of sizes (`profiles/sizes.toml`), and per engine a file that says which
//! of its settings they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::Catalog;
use super::files::File;
use super::wire::{line_of, read_toml};
use crate::error::{Error, Result};
use crate::model::{Expr, Facts};

/// The table of sizes, by its file name.
const SIZES: &str = "sizes";
/// The value of a setting for every profile that it does not name.
const OTHER: &str = "other";

/// A size profile: what a private server of that size is given. A user's own is a file
/// `profiles/<id>.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name on the command line, and of the file.
    pub id: String,
    /// One line for lists.
    pub title: String,
    /// Prose on what the profile is for.
    #[serde(default)]
    pub about: String,
    /// Nominal size of the data set that goes with it.
    pub size_gb: f64,
    /// The machine it is meant for, as text: `4-8`.
    pub cores: Option<String>,
    /// Memory of the machine that it is meant for, in GB, as text.
    pub ram_gb: Option<String>,
    /// Buffer cache of the database in MB (2^20 bytes).
    pub cache_mb: Option<f64>,
    /// Memory that the server may take with these settings, in MB (2^20 bytes): buffer cache, log
    /// buffer, and sort/work memory in total. A machine that has less is refused.
    pub memory_mb: Option<f64>,
    /// Settings per engine, in the engine's own names and units.
    #[serde(default)]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
    /// Numbers of the profile in the table of sizes; none if it is not in the table.
    #[serde(skip)]
    sizes: Facts,
}

/// The name of a setting of the cache of each session, in MB (2^20 bytes), of an engine that has no
/// cache for all.
const CACHE_OF_SESSION: &str = "cache_mb";

impl Profile {
    /// Bytes of the cache that a session of this engine reads from, if the profile says; that of
    /// all sessions, or the session's own where the engine has no other.
    pub fn cache_bytes(&self, engine: &str) -> Option<f64> {
        let own = self
            .settings
            .get(engine)
            .and_then(|settings| settings.get(CACHE_OF_SESSION)?.parse().ok());
        own.or(self.cache_mb).map(|mb: f64| mb * 1_048_576.0)
    }
}

/// A setting of an engine, with `{{expression}}` over the numbers of a profile.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Setting {
    Each(String),
    /// Value by profile; `other` stands for the rest.
    ByProfile(BTreeMap<String, String>),
}

/// The settings of an engine by name, each with the place where it is written.
pub(super) type Settings = BTreeMap<String, (String, Setting)>;

/// Adds a file of `profiles/`: the table of sizes, the settings of an engine, or a profile of the
/// user's own.
///
/// # Errors
/// `file:line` of what is wrong in it.
pub(super) fn add(catalog: &mut Catalog, file: &File) -> Result<()> {
    let profiles = match file.stem() {
        SIZES => table(file)?,
        stem if catalog.engines().contains(&stem) => return add_settings(catalog, file),
        _ => {
            let own: Profile = read_toml(file)?;
            super::load::same_as_file_name(file, &own.id)?;
            vec![own]
        }
    };
    catalog.profiles.retain(|known| profiles.iter().all(|profile| profile.id != known.id));
    catalog.profiles.extend(profiles);
    catalog.profiles.sort_by(|a, b| a.size_gb.total_cmp(&b.size_gb));
    Ok(())
}

fn add_settings(catalog: &mut Catalog, file: &File) -> Result<()> {
    let read: BTreeMap<String, Spanned<Setting>> = read_toml(file)?;
    let placed = read.into_iter().map(|(name, setting)| {
        let place = format!("{}:{}", file.label, line_of(&file.text, setting.span().start));
        (name, (place, setting.into_inner()))
    });
    catalog.settings.entry(file.stem().to_string()).or_default().extend(placed);
    Ok(())
}

/// The profiles of the table: the n-th value of each line is that of the n-th profile.
fn table(file: &File) -> Result<Vec<Profile>> {
    let lines: BTreeMap<String, Spanned<Vec<toml::Value>>> = read_toml(file)?;
    let count = lines.get("id").map_or(0, |ids| ids.get_ref().len());
    let wrong = |at: usize, what: String| {
        Error::usage(format!("{}:{}", file.label, line_of(&file.text, at)), what)
    };
    if let Some((name, values)) = lines.iter().find(|(_, values)| values.get_ref().len() != count) {
        let what = format!("'{name}' has {} values for {count} profiles", values.get_ref().len());
        return Err(
            wrong(values.span().start, what).advise("write one for each id, in their order")
        );
    }
    let column = |at: usize| {
        lines
            .iter()
            .map(move |(name, values)| (name.clone(), values.get_ref()[at].clone()))
            .collect()
    };
    (0..count).map(|at| profile(column(at)).map_err(|what| wrong(0, what))).collect()
}

/// Reads a column of the table. Keys that are not fields of a profile are numbers for settings.
fn profile(mut column: toml::Table) -> std::result::Result<Profile, String> {
    const FIELDS: [&str; 7] =
        ["id", "title", "size_gb", "cores", "ram_gb", "cache_mb", "memory_mb"];
    let number = |value: &toml::Value| {
        value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
    };
    let sizes =
        column.iter().filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect();
    column.retain(|name, value| FIELDS.contains(&name) || number(value).is_none());
    let profile: Profile =
        column.try_into().map_err(|error: toml::de::Error| error.message().to_string())?;
    Ok(Profile { sizes, ..profile })
}

/// Gives every profile of the table the settings of every engine.
///
/// # Errors
/// `file:line` of a setting that cannot be had from the profile's numbers.
pub(super) fn map(catalog: &mut Catalog) -> Result<()> {
    for profile in catalog.profiles.iter_mut().filter(|profile| !profile.sizes.is_empty()) {
        for (engine, settings) in &catalog.settings {
            let of_engine = settings.iter().map(|(name, (place, setting))| {
                let text = value(setting, &profile.id, &profile.sizes);
                Ok((
                    name.clone(),
                    text.map_err(|what| Error::usage(place, format!("{name}: {what}")))?,
                ))
            });
            profile.settings.insert(engine.clone(), of_engine.collect::<Result<_>>()?);
        }
    }
    Ok(())
}

fn value(setting: &Setting, id: &str, sizes: &Facts) -> std::result::Result<String, String> {
    let text = match setting {
        Setting::Each(text) => text,
        Setting::ByProfile(texts) => {
            texts.get(id).or_else(|| texts.get(OTHER)).ok_or_else(|| {
                format!("a value is missing for profile {id} and for '{OTHER}' profiles")
            })?
        }
    };
    filled(text, sizes)
}

/// The text with each `{{expression}}` evaluated and rounded down.
pub(super) fn filled(text: &str, sizes: &Facts) -> std::result::Result<String, String> {
    let Some((before, rest)) = text.split_once("{{") else { return Ok(text.to_string()) };
    let (expression, after) = rest.split_once("}}").ok_or("'{{' is not closed by '}}'")?;
    let number = Expr(expression.trim().into()).eval(sizes)?.floor();
    Ok(format!("{before}{number}{}", filled(after, sizes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> File {
        File {
            path: format!("profiles/{name}"),
            label: name.into(),
            text: text.into(),
            lent: false,
        }
    }

    /// A catalog that knows the engine `lite`, with these two files.
    fn mapped(sizes: &str, lite: &str) -> Result<Catalog> {
        let mut catalog = Catalog::default();
        catalog.probes.insert("lite".into(), Vec::new());
        add(&mut catalog, &file("sizes.toml", sizes))?;
        add(&mut catalog, &file("lite.toml", lite))?;
        map(&mut catalog)?;
        Ok(catalog)
    }

    const SIZES: &str = "id = ['A', 'B']\ntitle = ['a', 'b']\nsize_gb = [2, 1]\ncache_mb = [9, \
                         16]\nlog_mb = [3, 4]\n";

    #[test]
    fn an_engines_settings_are_made_of_the_table() {
        let lite = "cache = '{{cache_mb / 2}} + {{ log_mb }}MB'\nfixed = 'on'\n[by]\nA = \
                    'x'\nother = '{{log_mb}}'\n";
        let catalog = mapped(SIZES, lite).unwrap();
        let ids: Vec<_> = catalog.profiles().iter().map(|profile| profile.id.as_str()).collect();
        assert_eq!(ids, ["B", "A"], "the smallest first");
        let of = |id: &str| {
            catalog.profile(id).unwrap().settings["lite"].values().cloned().collect::<Vec<_>>()
        };
        assert_eq!(of("A"), ["x", "4 + 3MB", "on"]);
        assert_eq!(of("B"), ["4", "8 + 4MB", "on"]);
        assert_eq!(catalog.profile("A").unwrap().cache_mb, Some(9.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let refused = |sizes: &str, lite: &str| mapped(sizes, lite).unwrap_err().to_string();
        let short = refused(&SIZES.replace("[9, 16]", "[9]"), "");
        assert_eq!(
            short,
            "sizes.toml:4: 'cache_mb' has 1 values for 2 profiles; write one for each id, in their \
             order"
        );
        let text = refused(&SIZES.replace("log_mb = [3", "cach_mb = ['x'"), "");
        assert!(text.contains("sizes.toml:1: unknown field `cach_mb`"), "{text}");
        let unknown = refused(SIZES, "fixed = 'on'\ncache = '{{cach_mb}}'\n");
        assert!(unknown.starts_with("lite.toml:2: cache: 'cach_mb' uses 'cach_mb'"), "{unknown}");
        let open = refused(SIZES, "cache = '{{cache_mb'\n");
        assert!(open.starts_with("lite.toml:1: cache: '{{' is not closed"), "{open}");
        let none = refused(SIZES, "[cache]\nA = '1'\n");
        assert!(none.contains("a value is missing for profile B"), "{none}");
    }
}
