//! Inheritance of workloads: the defaults of their group, and claims and parameters that they use
//! by name. The tables of a file are completed before they are read, so that every value keeps the
//! place where it is written.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::files::File;
use super::lookup::nearest;
use super::wire::{GroupFile, line_of};
use crate::error::{Error, Result};

/// The file with what the groups of a catalog share.
pub(super) const COMMON: &str = "common.toml";
const DEFAULTS: &str = "defaults";
/// The lists of a workload that may use names, each with the table that gives them.
const LISTS: [(&str, &str); 3] =
    [("contract", "claims"), ("crosscheck", "claims"), ("params", "params")];
/// Key for the name in an entry of such a list; the other keys override what the name stands for.
const USE: &str = "use";

type Value<'a> = Spanned<DeValue<'a>>;
/// Named claims and parameters: entries by table and name, each with the place of the name.
type Named<'a> = BTreeMap<(&'static str, String), (usize, Value<'a>)>;

/// Positions in files that are read as if they were one text.
pub(super) struct Places(Vec<(String, String)>);

impl Places {
    fn new<'f>(files: impl Iterator<Item = &'f File>) -> Places {
        Places(files.map(|file| (file.label.clone(), file.text.clone())).collect())
    }

    /// `file:line` of a byte.
    pub fn locate(&self, mut at: usize) -> String {
        let last = self.0.len().saturating_sub(1);
        for (label, text) in &self.0[..last] {
            match at.checked_sub(text.len()) {
                Some(beyond) => at = beyond,
                None => return format!("{label}:{}", line_of(text, at)),
            }
        }
        let (label, text) = &self.0[last];
        format!("{label}:{}", line_of(text, at))
    }

    fn error(&self, at: usize, what: impl Into<String>) -> Error {
        Error::usage(self.locate(at), what)
    }

    fn of_toml(&self, error: &toml::de::Error) -> Error {
        self.error(error.span().map_or(0, |span| span.start), error.message())
    }
}

/// A group file that was read, with the positions of its entries.
pub(super) struct PlacedGroup {
    pub group: GroupFile,
    pub places: Places,
}

/// The files with what the groups of a catalog share.
pub(super) struct CommonFiles {
    files: Vec<File>,
    /// Their texts, each behind those before: see [`behind_blanks`].
    texts: Vec<String>,
    /// Length of all of them, in bytes.
    length: usize,
}

/// Named claims and parameters that the groups of a catalog share.
pub(super) struct Common<'a> {
    of: &'a CommonFiles,
    named: Named<'a>,
}

impl CommonFiles {
    pub fn new(files: &[File]) -> CommonFiles {
        let (mut texts, mut length) = (Vec::new(), 0);
        for file in files {
            texts.push(behind_blanks(&file.text, length));
            length += file.text.len();
        }
        CommonFiles { files: files.to_vec(), texts, length }
    }

    /// Reads them, once for all groups; of two entries of the same name the later one counts.
    ///
    /// # Errors
    /// `file:line` of what is wrong.
    pub fn read(&self) -> Result<Common<'_>> {
        let places = Places::new(self.files.iter());
        let mut named = Named::new();
        for text in &self.texts {
            let mut table =
                DeTable::parse(text).map_err(|error| places.of_toml(&error))?.into_inner();
            take_named(&mut table, &mut named);
            if let Some(key) = table.keys().next() {
                let what = format!("'{}' is neither claims nor params", key.get_ref());
                return Err(places.error(key.span().start, what));
            }
        }
        Ok(Common { of: self, named })
    }
}

/// A text with blanks in the place of the texts before it, which have `length` bytes: so each
/// byte's position is one in the whole.
fn behind_blanks(text: &str, length: usize) -> String {
    format!("{:length$}{text}", "")
}

/// Takes the tables of names out of a file.
fn take_named<'a>(file: &mut DeTable<'a>, named: &mut Named<'a>) {
    for kind in ["claims", "params"] {
        let Some(DeValue::Table(table)) = file.remove(kind).map(Spanned::into_inner) else {
            continue;
        };
        named.extend(table.into_iter().map(|(key, value)| {
            let at = key.span().start;
            ((kind, key.into_inner().into_owned()), (at, value))
        }));
    }
}

/// Reads a group file with what its workloads inherit from `common` and from itself.
///
/// # Errors
/// `file:line` of what is wrong, of a name that there is not or that stands for itself, and of a
/// default or name of the group that no workload takes.
pub(super) fn group(common: &Common<'_>, file: &File) -> Result<PlacedGroup> {
    let places = Places::new(common.of.files.iter().chain([file]));
    let own = common.of.length;
    let text = behind_blanks(&file.text, own);
    let mut table = DeTable::parse(&text).map_err(|error| places.of_toml(&error))?.into_inner();
    let mut named = Named::new();
    take_named(&mut table, &mut named);
    let names =
        Names { own: named, common: &common.named, used: RefCell::default(), places: &places };
    complete(&mut table, &names)?;
    names.all_used()?;
    // What is missing is missing in the group's own file, which is the last.
    let group = GroupFile::deserialize(Deserializer::from(Spanned::new(own..own, table)));
    let group = group.map_err(|error| places.of_toml(&error))?;
    Ok(PlacedGroup { group, places })
}

/// Completes every workload of a group.
fn complete<'a>(group: &mut DeTable<'a>, names: &Names<'a, '_>) -> Result<()> {
    let defaults = match group.remove(DEFAULTS).map(Spanned::into_inner) {
        Some(DeValue::Table(defaults)) => defaults,
        _ => DeTable::new(),
    };
    let Some(DeValue::Array(workloads)) = group.get_mut("workload").map(Spanned::get_mut) else {
        return Ok(());
    };
    let mut taken = BTreeSet::new();
    for workload in workloads.iter_mut() {
        let DeValue::Table(workload) = workload.get_mut() else { continue };
        for (key, value) in &defaults {
            if !workload.contains_key(key.get_ref().as_ref()) {
                workload.insert(key.clone(), value.clone());
                taken.insert(key.get_ref().clone());
            }
        }
        names.expand_lists(workload)?;
    }
    match defaults.keys().find(|key| !taken.contains(key.get_ref())) {
        None => Ok(()),
        Some(key) => {
            let what =
                format!("no workload takes the default '{}': each has its own", key.get_ref());
            Err(names.places.error(key.span().start, what).advise("remove it"))
        }
    }
}

/// Named claims and parameters of a group.
struct Names<'a, 'p> {
    /// Those of its own file, which go before those that all groups share.
    own: Named<'a>,
    common: &'p Named<'a>,
    /// Places of the names that are used.
    used: RefCell<BTreeSet<usize>>,
    places: &'p Places,
}

impl<'a> Names<'a, '_> {
    fn expand_lists(&self, workload: &mut DeTable<'a>) -> Result<()> {
        for (list, kind) in LISTS {
            let Some(DeValue::Array(items)) = workload.get_mut(list).map(Spanned::get_mut) else {
                continue;
            };
            let mut expanded = toml::de::DeArray::new();
            for item in items.iter() {
                self.expand(kind, item, &mut Vec::new())?
                    .into_iter()
                    .for_each(|item| expanded.push(item));
            }
            *items = expanded;
        }
        Ok(())
    }

    /// Expands an entry of a list; `open` are the names that are being looked up.
    fn expand(
        &self,
        kind: &'static str,
        item: &Value<'a>,
        open: &mut Vec<String>,
    ) -> Result<Vec<Value<'a>>> {
        let Some(NameUse { name, own }) = name_use(item) else { return Ok(vec![item.clone()]) };
        let error = |what: String| self.places.error(item.span().start, what);
        if open.contains(&name) {
            return Err(error(format!(
                "'{name}' refers to itself: {} -> {name}",
                open.join(" -> ")
            )));
        }
        let key = (kind, name.clone());
        let Some((at, value)) = self.own.get(&key).or_else(|| self.common.get(&key)) else {
            let all = self.own.keys().chain(self.common.keys());
            let known = all.filter(|(of, _)| *of == kind).map(|(_, name)| name.as_str());
            let advice = match nearest(&name, known).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("define it in [{kind}] of the group or of {COMMON}"),
            };
            return Err(error(format!("there is no '{name}' in [{kind}]")).advise(advice));
        };
        self.used.borrow_mut().insert(*at);
        open.push(name);
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        let mut found = Vec::new();
        for item in items {
            found.extend(self.expand(kind, item, open)?);
        }
        open.pop();
        Ok(found.into_iter().map(|item| over(item, own.clone())).collect())
    }

    /// Refuses a name of the group itself that nothing uses.
    fn all_used(&self) -> Result<()> {
        let used = self.used.borrow();
        let unused = self.own.iter().find(|(_, (at, _))| !used.contains(at));
        unused.map_or(Ok(()), |((kind, name), (at, _))| {
            Err(self
                .places
                .error(*at, format!("no workload uses '{name}' of [{kind}]"))
                .advise("remove it"))
        })
    }
}

/// Entry of a list that stands for the entries of a name.
struct NameUse<'a> {
    name: String,
    /// Keys that override those of the entries.
    own: DeTable<'a>,
}

/// The name that an entry uses; none if the entry is complete itself.
fn name_use<'a>(item: &Value<'a>) -> Option<NameUse<'a>> {
    match item.get_ref() {
        DeValue::String(name) => Some(NameUse { name: name.to_string(), own: DeTable::new() }),
        DeValue::Table(table) => {
            let mut own = table.clone();
            let name = own.remove(USE)?.get_ref().as_str()?.to_string();
            Some(NameUse { name, own })
        }
        _ => None,
    }
}

/// An entry with `own` over it; tables within are merged.
fn over<'a>(item: Value<'a>, own: DeTable<'a>) -> Value<'a> {
    let span = item.span();
    match item.into_inner() {
        DeValue::Table(mut table) => {
            for (key, value) in own {
                let merged = match (table.remove(key.get_ref().as_ref()), value.get_ref()) {
                    (Some(known), DeValue::Table(within)) => over(known, within.clone()),
                    _ => value,
                };
                table.insert(key, merged);
            }
            Spanned::new(span, DeValue::Table(table))
        }
        other => Spanned::new(span, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Claim;

    const COMMON_TEXT: &str = "[claims]\nwaited = ['synced', { use = 'durable', when = 'commits' \
                               }]\nsynced = { what = 'commits', per = 'wal_syncs', max = 'jobs', \
                               because = 'b' }\ndurable = { what = 'durable', min = 1, params = { \
                               org = 'heap' }, because = 'b' }\n[params]\norg = { name = 'org', \
                               default = 'heap', values = ['heap'], about = '' }\n";
    const HEAD: &str = "id = 'T'\ntitle = 't'\n[defaults]\nrevision = 1\ntitle = 'all'\n\
        kpm = { value = 'ops', unit = 'qps', better = 'higher' }\n";

    fn file(name: &str, text: &str) -> File {
        File {
            path: format!("workloads/{name}"),
            label: name.into(),
            text: text.into(),
            lent: false,
        }
    }

    fn group(common: &[File], file: &File) -> Result<PlacedGroup> {
        super::group(&CommonFiles::new(common).read()?, file)
    }

    fn read(text: &str) -> Result<GroupFile> {
        group(&[file(COMMON, COMMON_TEXT)], &file("t/group.toml", &format!("{HEAD}{text}")))
            .map(|read| read.group)
    }

    fn refused(text: &str) -> String {
        read(text).err().unwrap().to_string()
    }

    #[test]
    fn a_workload_takes_defaults_and_what_it_names() {
        let text = "[claims]\nboth = ['waited', { use = 'synced', max = 9 }]\n[[workload]]\nid = \
                    'T-1'\nparams = ['org']\ncontract = [{ use = 'both', params = { x = 'y' } \
                    }]\n[[workload]]\nid = 'T-2'\ntitle = 'own'\ncontract = [{ what = 'rows', max \
                    = 0, because = 'b' }]\n";
        let workloads: Vec<_> = read(text)
            .unwrap()
            .workload
            .into_iter()
            .map(|entry| entry.into_workload("T"))
            .collect();
        assert_eq!([&workloads[0].title, &workloads[1].title], ["all", "own"]);
        assert_eq!(workloads[0].params[0].values, ["heap"]);
        let shown = |claim: &Claim| {
            let params: Vec<_> =
                claim.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let max = claim.max.as_ref().map(|max| max.0.clone()).unwrap_or_default();
            format!("{} {max} {:?} {}", claim.what, claim.when, params.join(","))
        };
        let claims: Vec<_> = workloads[0].contract.iter().map(shown).collect();
        assert_eq!(
            claims,
            [
                "commits jobs None x=y",
                "durable  Some(\"commits\") org=heap,x=y",
                "commits 9 None x=y"
            ]
        );
        assert_eq!(workloads[1].contract.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_in_the_file_where_it_stands() {
        let workload = |fields: &str| format!("[[workload]]\nid = 'T-1'\n{fields}\n");
        let unknown = refused(&workload("contract = ['syncd']"));
        assert_eq!(
            unknown,
            "t/group.toml:9: there is no 'syncd' in [claims]; did you mean synced?"
        );
        let param = refused(&workload("params = [{ use = 'zzz' }]"));
        assert!(
            param.starts_with(
                "t/group.toml:9: there is no 'zzz' in [params]; define it in [params]"
            ),
            "{param}"
        );
        let cycle =
            refused(&format!("[claims]\na = ['b']\nb = 'a'\n{}", workload("contract = ['a']")));
        assert_eq!(cycle, "t/group.toml:9: 'a' refers to itself: a -> b -> a");
        let unused = refused(&format!("[claims]\na = 'synced'\n{}", workload("")));
        assert_eq!(unused, "t/group.toml:8: no workload uses 'a' of [claims]; remove it");
        let default = refused(&workload("title = 'own'"));
        assert_eq!(
            default,
            "t/group.toml:5: no workload takes the default 'title': each has its own; remove it"
        );
        let field = refused(&workload("contract = [{ use = 'synced', perr = 'ops' }]"));
        assert!(field.starts_with("t/group.toml:9: unknown field `perr`"), "{field}");
        let typed = refused(&workload("contract = [{ use = 'synced', because = 7 }]"));
        assert!(typed.starts_with("t/group.toml:9: invalid type"), "{typed}");
        let syntax = refused("id = \n");
        assert!(syntax.starts_with("t/group.toml:7: "), "{syntax}");
        let wrong = [file(COMMON, &COMMON_TEXT.replace("per =", "pre ="))];
        let text = format!("{HEAD}{}", workload("contract = ['synced']"));
        let common = group(&wrong, &file("t/group.toml", &text)).err().unwrap().to_string();
        assert!(common.starts_with("common.toml:3: unknown field `pre`"), "{common}");
        let nameless = HEAD.replacen("id = ", "# id = ", 1);
        assert_ne!(nameless, HEAD);
        let own = file("t/group.toml", &format!("{nameless}{}", workload("contract = ['synced']")));
        let missing = group(&[file(COMMON, COMMON_TEXT)], &own).err().unwrap().to_string();
        assert!(missing.starts_with("t/group.toml:1: missing field `id`"), "{missing}");
    }
}
