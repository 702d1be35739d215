//! The TARGET argument: an engine's name or the URL of an existing server.

use std::path::{Path, PathBuf};

use crate::catalog::nearest;
use crate::engine::{ENGINES, Engine, LEFT_OUT};
use crate::error::{Error, Result, quote};
use crate::model::{Capabilities, ClusterSpec, Target};
use crate::server::{self, ClusterKind};

/// Target location by the arguments.
pub struct TargetLocation {
    pub data_dir: PathBuf,
    pub server_bin: Option<PathBuf>,
    pub port: Option<u16>,
    /// An engine without a database will do.
    pub without_database: bool,
}

/// Name and capabilities of every engine with a database behind it.
fn targets() -> impl Iterator<Item = (&'static str, Capabilities)> {
    ENGINES
        .iter()
        .filter(|engine| engine.is_target())
        .map(|engine| (engine.name(), engine.capabilities()))
}

/// The target if none is given: an embedded engine, if one is compiled in.
pub fn usual() -> &'static str {
    targets()
        .find(|(_, can)| can.in_process)
        .or_else(|| targets().next())
        .map_or("", |(name, _)| name)
}

/// Help on the forms of a TARGET.
pub fn help() -> String {
    format!(
        "{} (an embedded database in a private file), {}",
        names(|can| can.in_process),
        help_of_servers()
    )
}

/// Help on the forms of a TARGET that is no embedded database.
pub fn help_of_servers() -> String {
    let mut passwords: Vec<_> =
        targets().filter_map(|(_, can)| can.passwords).map(|from| from.to_string()).collect();
    // Engines of one family, which stand beside one another, read the same files.
    passwords.dedup();
    format!(
        "{} (a private server of the installed binaries), {} (a private cluster), or the URL of \
         an existing server: {} (password from {}, or a prompt)",
        names(|can| can.private_server),
        clusters(),
        urls().join(", "),
        passwords.join(", ")
    )
}

/// Help on the forms of a TARGET that is a cluster.
pub fn help_of_clusters() -> String {
    format!(
        "{} (a private cluster), or the URL of an existing cluster, as 'run' has it",
        clusters()
    )
}

/// Names of the engines that can do something.
fn names(is: fn(&Capabilities) -> bool) -> String {
    targets().filter(|(_, can)| is(can)).map(|(name, _)| name).collect::<Vec<_>>().join(" or ")
}

/// Names of the private clusters.
fn clusters() -> String {
    server::CLUSTERS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(" or ")
}

/// A URL of each engine.
fn urls() -> Vec<String> {
    targets().filter_map(|(_, can)| can.url_schemes.first()).map(|scheme| url(scheme)).collect()
}

fn url(scheme: &str) -> String {
    format!("{scheme}://user@host:port/database")
}

/// Reads the TARGET argument.
///
/// # Errors
/// Unknown engine or URL scheme, naming what exists; a URL that carries a password.
pub fn parse(text: &str, place: TargetLocation) -> Result<(Target, &'static dyn Engine)> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return existing(text, scheme, rest);
    }
    if let Some(cluster) = server::find_cluster(&text.to_ascii_lowercase()) {
        return private_cluster(cluster, place);
    }
    let named = |engine: &&&dyn Engine| engine.name() == text.to_ascii_lowercase();
    let engine = *ENGINES
        .iter()
        .find(named)
        .ok_or_else(|| left_out(text).unwrap_or_else(|| unknown(text)))?;
    if !engine.is_target() && !place.without_database {
        return Err(Error::usage(
            "TARGET",
            format!("{} holds no data and measures our own loop only", quote(text)),
        )
        .advise("run 'dbdyno overhead'"));
    }
    let name = engine.name().to_string();
    let TargetLocation { data_dir, server_bin, port, .. } = place;
    let can = engine.capabilities();
    let target = match can.private_server {
        true => Target::Private { engine: name, data_dir, server_bin, port, cluster: None },
        false if can.url_schemes.is_empty() => {
            choose_library(engine, server_bin.as_deref())?;
            Target::Embedded { engine: name, data_dir }
        }
        false => return Err(by_url_only(&can)),
    };
    Ok((target, engine))
}

/// A cluster of private servers, which have sockets only.
fn private_cluster(
    kind: &ClusterKind,
    place: TargetLocation,
) -> Result<(Target, &'static dyn Engine)> {
    let engine = crate::engine::find(kind.engine).ok_or_else(|| unknown(kind.name))?;
    if place.port.is_some() {
        return Err(Error::usage(
            "--port",
            "the nodes of a private cluster have Unix sockets only",
        )
        .advise("leave it out"));
    }
    let TargetLocation { data_dir, server_bin, .. } = place;
    let cluster =
        Some(ClusterSpec { name: kind.name.into(), nodes: server::USUAL_NODES, link_delay: None });
    Ok((
        Target::Private { engine: kind.engine.into(), data_dir, server_bin, port: None, cluster },
        engine,
    ))
}

/// No private server of the engine can be made.
fn by_url_only(can: &Capabilities) -> Error {
    let urls: Vec<_> = can.url_schemes.iter().map(|scheme| url(scheme)).collect();
    Error::usage("TARGET", format!("{} is only reached as an existing server", can.product))
        .advise(format!("give its URL: {}", urls.join(" or ")))
}

/// A scheme that this build knows and leaves out.
fn left_out(scheme: &str) -> Option<Error> {
    let feature = LEFT_OUT.iter().find(|feature| **feature == scheme)?;
    let what = format!("this build leaves the engine {} out", quote(*feature));
    Some(
        Error::usage("TARGET", what)
            .advise(format!("build it with 'cargo install --path . --features {feature}'")),
    )
}

/// Takes `--server-bin` for an embedded engine: the directory of its library.
fn choose_library(engine: &dyn Engine, dir: Option<&Path>) -> Result<()> {
    match (dir, engine.library()) {
        (None, _) => Ok(()),
        (Some(dir), Some(library)) => {
            library.choice().set(dir);
            Ok(())
        }
        (Some(_), None) => {
            let product = engine.capabilities().product;
            Err(Error::usage("--server-bin", format!("{product} is compiled in"))
                .advise("leave it out"))
        }
    }
}

fn existing(url: &str, scheme: &str, rest: &str) -> Result<(Target, &'static dyn Engine)> {
    let speaks = |engine: &&&dyn Engine| engine.capabilities().url_schemes.contains(&scheme);
    let engine = *ENGINES.iter().find(speaks).ok_or_else(|| {
        if let Some(error) = left_out(scheme) {
            return error;
        }
        let schemes: Vec<_> =
            ENGINES.iter().flat_map(|engine| engine.capabilities().url_schemes).copied().collect();
        Error::usage("TARGET", format!("no engine takes URLs of the scheme {}", quote_word(scheme)))
            .advise(format!("known: {}", schemes.join(", ")))
    })?;
    match password(rest) {
        Password::None => Ok((
            Target::Existing { engine: engine.name().to_string(), url: url.to_string() },
            engine,
        )),
        Password::Likely => Err(visible_password_error(engine, "the URL holds a password")),
        Password::Possible => Err(visible_password_error(
            engine,
            "the URL has a ':' followed by something that is not a port and may be a password",
        )),
    }
}

/// Looks at the URL of a pooler before a server whose URLs have these schemes.
///
/// # Errors
/// Another scheme, a password in it; it is not repeated.
pub fn check_pooler(url: &str, schemes: &[&str]) -> Result<()> {
    let refused = |what: &str| {
        let advice = format!("write {}", self::url(schemes.first().unwrap_or(&"scheme")));
        Err(Error::usage("--via", what).advise(advice))
    };
    let Some((scheme, rest)) = url.split_once("://") else { return refused("is not a URL") };
    if !schemes.contains(&scheme) {
        return refused("is a URL of another product than the target's");
    }
    existing(url, scheme, rest).map(drop).map_err(|error| Error { place: "--via".into(), ..error })
}

/// The URL itself must not be echoed: it holds the password.
fn visible_password_error(engine: &dyn Engine, what: &str) -> Error {
    let sources = engine
        .capabilities()
        .passwords
        .map_or(String::new(), |sources| format!(" and use {sources}, or"));
    Error::usage("TARGET", format!("{what}, which every user of this machine can see"))
        .advise(format!("leave it out{sources} type it when asked"))
}

/// Password in a URL, if there is one.
enum Password {
    None,
    Likely,
    /// It has a '/' or a '?', which ends the part of user and host, or no '@' follows it.
    Possible,
}

/// Parameters that others know.
const PASSWORDS: [&str; 4] = ["password=", "passwd=", "pass=", "pwd="];

/// Looks for a password in a URL without its scheme.
fn password(rest: &str) -> Password {
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let tail = &rest[authority.len()..];
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let lower = tail.to_ascii_lowercase();
    // `user/password@host/service`, as Oracle's own programs write it; a database may be `a@b`.
    let path = tail.split('?').next().unwrap_or_default();
    let is_in_path = user.is_empty()
        && !authority.is_empty()
        && path.split_once('@').is_some_and(|(_, host)| host.contains('/'));
    if is_in_path || user.contains(':') || PASSWORDS.iter().any(|name| lower.contains(name)) {
        return Password::Likely;
    }
    let mut ports = hosts.split(',').filter_map(port).peekable();
    let is_user = ports.peek().is_some() && has_user(tail);
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if is_user || !ports.all(is_number) { Password::Possible } else { Password::None }
}

/// Text that follows the ':' of a host, `[::1]` being a name.
fn port(host: &str) -> Option<&str> {
    host.rsplit_once(']').map_or(host, |(_, tail)| tail).split_once(':').map(|(_, port)| port)
}

/// True if what follows user and host has an '@' that is in no parameter's value: all before it may
/// be a user and a password.
fn has_user(tail: &str) -> bool {
    let in_value =
        |before: &str| before.split_once('?').is_some_and(|(_, query)| query.contains('='));
    tail.rsplit_once('@').is_some_and(|(before, _)| !in_value(before))
}

/// A word as it was typed, but not if it may be a URL with a password.
fn quote_word(text: &str) -> String {
    if text.contains([':', '@']) { "what was given".into() } else { quote(text) }
}

fn unknown(text: &str) -> Error {
    let names: Vec<_> = targets().map(|(name, _)| name).collect();
    let near = nearest(text, names.iter().copied());
    let question = near.first().map_or(String::new(), |name| format!("did you mean '{name}'? "));
    Error::usage("TARGET", format!("{} is neither an engine nor a URL", quote_word(text)))
        .advise(format!("{question}known: {}, or a URL ({})", names.join(", "), urls().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target> {
        parse(
            text,
            TargetLocation {
                data_dir: "/data".into(),
                server_bin: None,
                port: None,
                without_database: false,
            },
        )
        .map(|(target, _)| target)
    }

    /// Place where the password of a URL may be given instead.
    fn source(url: &str) -> &'static str {
        if url.starts_with("postgres") {
            "PGPASSWORD or ~/.pgpass"
        } else {
            "MYSQL_PWD or [client] of ~/.my.cnf"
        }
    }

    #[test]
    fn names_are_embedded_or_private_and_urls_are_existing() {
        assert!(matches!(read("sqlite"), Ok(Target::Embedded { .. })));
        assert!(matches!(read("postgres"), Ok(Target::Private { .. })));
        for scheme in ["mariadb", "mysql"] {
            assert_eq!(read(&format!("{scheme}://me@db")).unwrap().engine(), scheme);
        }
        let url = read("postgres://me@db.example:5432/app").unwrap();
        assert_eq!(url.label(), "postgres://me@db.example:5432/app");
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_echoed() {
        for url in [
            "postgres://me:secret@db/app",
            "postgres://db/app?user=me&password=secret",
            "mysql://me:secret@db",
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(source(url)) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_may_be_a_password_is_refused_and_not_echoed() {
        for url in [
            "postgres://me:sec/ret@db.example/app",
            "postgres://me:se?cret@db.example/app",
            "mariadb://me:sec/ret@db",
            "postgres://me:12/secret@db/app",
            "postgres://me:12?secret@db/app",
            "postgres://me:/secret@db",
            "postgres://me:secret",
            "postgres://me@site:sec/ret@db/app",
            "postgres://db/app?passwd=secret",
            "mysql://db?user=me&pwd=secret",
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(source(url)), "{error}");
            assert!(!error.contains("sec") && !error.contains("ret@"), "{error}");
        }
        for text in ["me:secret@db/app", "postgres//me:secret@db", "me:secret@db://app"] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("known: ") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_can_be_no_password_is_read() {
        for url in [
            "postgres://me@db:5432/app?x=a@b",
            "postgres://db:5432,other:5433/app?x=a@b",
            "postgres://me@[::1]:5432/app?x=a@b",
            "postgres://me@[::1]/app",
            "postgres://db/a@b",
            "postgres://me@/postgres?host=/run/x:y@z",
            "mariadb://me@db:/app",
        ] {
            assert!(matches!(read(url), Ok(Target::Existing { .. })), "{url}");
        }
    }

    #[test]
    fn an_unknown_engine_names_the_nearest() {
        assert!(read("postgress").unwrap_err().to_string().contains("did you mean 'postgres'?"));
        assert_eq!(read("ftp://x").unwrap_err().kind.exit_code(), 2);
    }
}
