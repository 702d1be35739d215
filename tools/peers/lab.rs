//! The databases that are compared on: private, made for this and removed afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno::catalog::Catalog;
use dbdyno::dataset::{self, Definition, LoadedDataset, Lock, Recipe, Request, Site, Watch};
use dbdyno::engine::{self, Access, ConnectTo, Database, Engine, Session};
use dbdyno::error::Result;
use dbdyno::model::{TableRef, Target};
use dbdyno::run::standard_definition;
use dbdyno::server::{self, PrivateServer, StartOptions};
use secrecy::SecretString;

use super::interrupt::interrupt;
use super::{MORE_WORKLOADS, failed, tls};

/// Size profile of the databases, and nominal size of the data set of the lookups: it fits into the
/// cache.
pub const PROFILE: &str = "XS";
pub const LOOKUP_GB: f64 = 0.25;
/// Seed of rows and keys.
pub const SEED: u64 = 1;

/// A directory of our own that goes with its content when dropped.
pub struct Directory(PathBuf);

impl Directory {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Nothing of value is in it, and nobody is left to tell.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes the directory for the databases within `parent`, or among the temporary files. It is open
/// to other users: the server runs as one of them if we are root.
pub fn directory(parent: Option<&Path>) -> Result<Directory> {
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let path = parent.join(format!("dbdyno-peers-{}", std::process::id()));
    std::fs::create_dir_all(&path)
        .map_err(|error| failed(&path.display().to_string(), error.to_string()))?;
    Ok(Directory(path))
}

/// Setup of a lab's database.
struct Equipment {
    /// None of an embedded one.
    server: Option<PrivateServer>,
    settings: BTreeMap<String, String>,
    password: Option<SecretString>,
}

/// An open database with the rows of the lookups.
pub struct Lab {
    pub catalog: Catalog,
    pub engine: &'static dyn Engine,
    pub database: Box<dyn Database>,
    pub loaded: LoadedDataset,
    pub server: Option<PrivateServer>,
    pub settings: BTreeMap<String, String>,
    pub file: Option<PathBuf>,
    /// URL for peers, with its password.
    pub url: String,
    pub password: Option<SecretString>,
    /// For files of the peers; removed at the end.
    pub directory: PathBuf,
    /// Nominal size of the data set.
    pub size_gb: f64,
    definition: Definition,
}

impl Lab {
    /// A private PostgreSQL server.
    pub fn postgres(directory: &Path) -> Result<Lab> {
        Lab::private("postgres", directory)
    }

    /// A private MariaDB server.
    pub fn mariadb(directory: &Path) -> Result<Lab> {
        Lab::private("mariadb", directory)
    }

    /// A private server of the programs in `bin`, or of those that are installed, with more
    /// settings than those of the size profile.
    pub fn with_settings(
        engine: &str,
        directory: &Path,
        bin: Option<PathBuf>,
        more: &[(&str, &str)],
    ) -> Result<Lab> {
        let options =
            StartOptions { data_dir: directory.into(), server_bin: bin, ..StartOptions::default() };
        let (catalog, server, settings) = start_server(engine, options, more)?;
        let target = Target::Existing { engine: engine.into(), url: server.url() };
        let server = Some(server);
        Lab::open(catalog, target, directory, Equipment { server, settings, password: None })
    }

    /// A private PostgreSQL server that is reached over TCP and TLS.
    pub fn postgres_over_tls(directory: &Path) -> Result<Lab> {
        let port = tls::free_port()?;
        let options = StartOptions {
            data_dir: directory.into(),
            port: Some(port),
            ..StartOptions::default()
        };
        let (catalog, server, settings) = start_server("postgres", options, &[])?;
        let (url, password) = tls::encrypt(&server, port, directory)?;
        let target = Target::Existing { engine: "postgres".into(), url };
        let (server, password) = (Some(server), Some(password));
        Lab::open(catalog, target, directory, Equipment { server, settings, password })
    }

    fn private(engine: &str, directory: &Path) -> Result<Lab> {
        Lab::with_settings(engine, directory, None, &[])
    }

    /// A private SQLite file.
    pub fn sqlite(directory: &Path) -> Result<Lab> {
        Lab::open_embedded("sqlite", directory)
    }

    /// A private DuckDB file; its library is fetched if it is not there.
    pub fn duckdb(directory: &Path) -> Result<Lab> {
        server::fetch("duckdb", None)?;
        Lab::open_embedded("duckdb", directory)
    }

    fn open_embedded(engine: &str, directory: &Path) -> Result<Lab> {
        let catalog = Catalog::embedded()?;
        let settings = settings(&catalog, engine)?;
        let target = Target::Embedded { engine: engine.into(), data_dir: directory.into() };
        let equipment = Equipment { server: None, settings, password: None };
        Lab::open(catalog, target, directory, equipment)
    }

    fn open(
        catalog: Catalog,
        target: Target,
        directory: &Path,
        equipment: Equipment,
    ) -> Result<Lab> {
        let Equipment { server, settings, password } = equipment;
        let engine = engine::find(target.engine())
            .ok_or_else(|| failed(target.engine(), "is not compiled in"))?;
        let file = matches!(target, Target::Embedded { .. })
            .then(|| directory.join(format!("peers-{}.db", engine.name())));
        let url = match &target {
            Target::Existing { url, .. } => url.clone(),
            _ => String::new(),
        };
        let (label, to_url) = (target.label(), Some(url.clone()).filter(|url| !url.is_empty()));
        let to = ConnectTo {
            file: file.clone(),
            url: to_url,
            password: password.clone(),
            settings: settings.clone(),
            ..ConnectTo::new(target)
        };
        let database = engine.open(&to, Access::Provision).map_err(|error| error.at(label))?;
        let definition = standard_definition(&catalog)?;
        let loaded =
            LoadedDataset { tables: Vec::new(), loads: Vec::new(), data_set_id: String::new() };
        let directory = directory.to_path_buf();
        let mut lab = Lab {
            catalog,
            engine,
            database,
            loaded,
            server,
            settings,
            file,
            url,
            password,
            directory,
            size_gb: LOOKUP_GB,
            definition,
        };
        lab.hold(&["small"], LOOKUP_GB)?;
        Ok(lab)
    }

    /// Loads these tables in this size and brings them into the cache: what tests read from now on.
    pub fn hold(&mut self, tables: &[&str], size_gb: f64) -> Result<()> {
        self.loaded = self.load(tables, size_gb)?;
        self.size_gb = size_gb;
        let request = self.request(tables, size_gb);
        let site = self.site()?;
        for table in dataset::tables(&site.recipe, &request) {
            dataset::warm(&site, &table)?;
        }
        Ok(())
    }

    /// Site of the data set.
    pub fn site(&self) -> Result<Site<'_>> {
        Ok(Site {
            db: self.database.as_ref(),
            recipe: Recipe::new(
                self.engine,
                &self.definition,
                self.catalog.dataset(&self.definition.id)?,
            ),
            words: Vec::new(),
            lasting: false,
            label: self.engine.name(),
        })
    }

    /// Loads the tables, unless they are there.
    pub fn load(&self, tables: &[&str], size_gb: f64) -> Result<LoadedDataset> {
        let watch = Watch { events: &|_| {}, cancel: &interrupt().flag() };
        let site = self.site()?;
        dataset::ensure(&site, &Lock::take(&site)?, &self.request(tables, size_gb), watch)
    }

    pub fn request(&self, tables: &[&str], size_gb: f64) -> Request {
        let tables = tables.iter().map(|table| TableRef::new(table)).collect();
        Request { tables, size_gb, seed: SEED, sessions: dbdyno::host::processors() }
    }

    /// Opens a session; an error names `place`.
    pub fn session(&self, place: &str) -> Result<Box<dyn Session>> {
        self.database.session().map_err(|error| error.at(place))
    }

    /// Writes a file for another program; it goes with the directory of the lab.
    pub fn write_file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.directory.join(name);
        std::fs::write(&path, text)
            .map_err(|error| failed(&path.display().to_string(), error.to_string()))?;
        Ok(path)
    }

    /// Process id of the server.
    pub fn server_pid(&self) -> Option<u32> {
        self.server.as_ref().and_then(PrivateServer::pid)
    }

    /// Stops the server and removes it.
    pub fn close(self) -> Result<()> {
        drop(self.database);
        self.server.map_or(Ok(()), PrivateServer::stop_and_remove)
    }
}

/// Runs another program to its end: what it printed. If it fails, the last line of its messages
/// says why.
pub fn run_program(name: &str, command: &mut Command) -> Result<String> {
    let output = command.output();
    let output = output.map_err(|error| failed(name, format!("cannot be run ({error})")))?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(failed(name, messages.trim().lines().last().unwrap_or("failed").to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A server of ours, with the catalog and the settings that it has.
fn start_server(
    engine: &str,
    options: StartOptions,
    more: &[(&str, &str)],
) -> Result<(Catalog, PrivateServer, BTreeMap<String, String>)> {
    let mut catalog = Catalog::embedded()?;
    if let Some(more) = MORE_WORKLOADS {
        catalog.lay_over(Path::new(more))?;
    }
    let mut settings = settings(&catalog, engine)?;
    // The other way round of saying the same would win.
    settings.retain(|name, _| !more.iter().any(|(given, _)| *name == format!("skip_{given}")));
    settings.extend(more.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    let options = StartOptions { settings: settings.clone(), ..options };
    Ok((catalog, server::start(engine, &options)?, settings))
}

fn settings(catalog: &Catalog, engine: &str) -> Result<BTreeMap<String, String>> {
    Ok(catalog.profile(PROFILE)?.settings.get(engine).cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workload of the tools' own must load whatever engines the embedded catalog has: without
    /// it no comparison starts.
    #[test]
    fn the_catalog_of_the_tool_fits_the_embedded_one() {
        let mut catalog = Catalog::embedded().unwrap();
        let before = catalog.entries().len();
        if let Some(more) = MORE_WORKLOADS {
            catalog.lay_over(Path::new(more)).unwrap_or_else(|error| panic!("{error}"));
            assert!(catalog.entries().len() > before, "{more} has no workload");
        }
    }
}
