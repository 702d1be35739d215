//! Abilities of an engine and the names of its parts: declared by the engine, asked instead of its
//! name.

use super::{Drive, Protocol, Transport, Wire};

/// Style of positional placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// `$1`, `$2`; a repeated bind uses the same number.
    Dollar,
    /// `?1`, `?2`; a repeated bind uses the same number.
    QuestionNumber,
    /// `?`; a repeated bind is repeated.
    Question,
    /// `:1`, `:2`; a repeated bind is repeated under the next number.
    Colon,
    /// `{p1:Int64}`, `{p2:Int64}`; a repeated bind uses the same number.
    Braces,
}

/// Places where the client of an existing server looks for a password before it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordSources {
    /// Environment variable.
    pub variable: &'static str,
    /// File, as the advice of errors names it.
    pub file: &'static str,
}

impl std::fmt::Display for PasswordSources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} or {}", self.variable, self.file)
    }
}

/// Files in which an engine keeps the rows of the data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFiles {
    /// One file for all tables.
    One,
    /// Files of one table each.
    OfTable {
        /// Length at which a table gets another file, in bytes.
        most_bytes: u64,
    },
    /// Files of parts of a table, whose length nobody knows before.
    OfParts,
}

/// Abilities of an engine. An engine states what differs from [`Capabilities::LEAST`].
#[derive(Debug, Clone, Copy)]
pub struct Capabilities {
    /// Name of the product, which is printed before every version.
    pub product: &'static str,
    /// Drives it has; the first is the default.
    pub drives: &'static [Drive],
    /// A commit inside a stored routine is waited for, as one of a client is. Where it is not, a
    /// committing workload's routine is one op, called once per op.
    pub commits_in_routine: bool,
    /// Placeholder style of prepared statements.
    pub placeholder: Placeholder,
    /// Prefix of dbdyno's object names: `dbdyno.` or nothing.
    pub prefix: &'static str,
    /// Table organizations of the data set, the default first: `heap`, `rowid`, ...
    pub orgs: &'static [&'static str],
    /// Organisations of other engines that this one lacks for a reason worth telling; it lacks all
    /// others, too.
    pub unsupported_orgs: &'static [(&'static str, &'static str)],
    /// Organizations among `orgs` that this server lacks, with the reasons; known when it is open.
    pub missing_orgs: &'static [(&'static str, &'static str)],
    /// Several streams can load one table at the same time; else there is a single writer.
    pub parallel_load: bool,
    /// True if the rows of the data set are made by a statement within the database, because the
    /// engine has no fast path from outside.
    pub loads_in_database: bool,
    /// Several indexes of one table can be built at the same time.
    pub parallel_index: bool,
    /// True if the engine runs inside dbdyno's process: its CPU use is then dbdyno's, and the
    /// process is not a separate limit.
    pub in_process: bool,
    /// Statements are worked on by threads that the engine starts when it is opened, not only by
    /// those of the jobs.
    pub own_threads: bool,
    /// Endings of the files that an embedded engine may put beside the database's file: `-wal`.
    pub file_endings: &'static [&'static str],
    /// Files in which it keeps the rows of the data set.
    pub data_files: DataFiles,
    /// URL schemes of existing servers, the usual one first; empty for embedded engines.
    pub url_schemes: &'static [&'static str],
    /// Places for the password of an existing server; none for an engine without passwords.
    pub passwords: Option<PasswordSources>,
    /// A private server can be created from installed binaries.
    pub private_server: bool,
    /// Transports of its statements.
    pub transports: &'static [Transport],
    /// Protocols by which its client drive sends statements.
    pub protocols: &'static [Protocol],
    /// The disclosed setting that holds the size of a block in bytes, for rates in bytes.
    pub block_setting: Option<&'static str>,
    /// The setting that holds the size of the cache in MB (2^20 bytes) that each session has of its
    /// own; none if all sessions share one.
    pub session_cache_setting: Option<&'static str>,
    /// Disclosed settings that decide what a commit, a cached block or a sort costs, for pages that
    /// have no room for all.
    pub key_settings: &'static [&'static str],
}

fn lacks_transport(in_process: bool, transport: Transport) -> &'static str {
    match (in_process, transport) {
        (true, _) => "the database runs in our process: there is no connection",
        (false, Transport::Pooler) => "no pooler before this database is known here",
        (false, _) => "the database is a server of its own, not in our process",
    }
}

impl Capabilities {
    /// An embedded engine that a client drives, with tables of one kind and one writer.
    pub const LEAST: Capabilities = Capabilities {
        product: "",
        drives: &[Drive::Client],
        commits_in_routine: true,
        placeholder: Placeholder::QuestionNumber,
        prefix: "",
        orgs: &[],
        unsupported_orgs: &[],
        missing_orgs: &[],
        parallel_load: false,
        loads_in_database: false,
        parallel_index: false,
        in_process: true,
        own_threads: false,
        file_endings: &[],
        data_files: DataFiles::One,
        url_schemes: &[],
        passwords: None,
        private_server: false,
        transports: &[Transport::Process],
        protocols: &[],
        block_setting: None,
        session_cache_setting: None,
        key_settings: &[],
    };
    /// A server: private ones can be created, existing ones are named by URL, their routines are
    /// the default drive.
    pub const SERVER: Capabilities = Capabilities {
        drives: &[Drive::Database, Drive::Client],
        prefix: "dbdyno.",
        parallel_load: true,
        in_process: false,
        data_files: DataFiles::OfTable { most_bytes: u64::MAX },
        private_server: true,
        transports: &Transport::OF_SERVERS,
        ..Capabilities::LEAST
    };

    /// The organization of tables if none is chosen.
    pub fn default_org(&self) -> &'static str {
        self.orgs.first().copied().unwrap_or("default")
    }

    /// Reason why statements cannot travel this way, if they cannot.
    pub fn lacks_wire(&self, wire: Wire) -> Option<String> {
        let (transport, protocol) = (wire.transport, wire.protocol);
        if transport != Transport::Given && !self.transports.contains(&transport) {
            return Some(lacks_transport(self.in_process, transport).into());
        }
        let has = protocol == Protocol::Prepared || self.protocols.contains(&protocol);
        (!has).then(|| format!("its protocol has no form {}", protocol.name()))
    }

    /// Reason why the engine has no tables of this organization, if it has none.
    pub fn lacks_org(&self, org: &str) -> Option<String> {
        let mut lacking = self.unsupported_orgs.iter().chain(self.missing_orgs);
        let reason = lacking.find(|(lacking, _)| *lacking == org).map(|(_, reason)| *reason);
        if reason.is_none() && self.orgs.contains(&org) {
            return None;
        }
        let known =
            || format!("{} has no such tables, only {}", self.product, self.orgs.join(", "));
        Some(format!("org={org} is not available: {}", reason.map_or_else(known, str::to_string)))
    }
}
