//! The TARGET argument: an engine's name or the URL of an existing server.

use std::path::PathBuf;

use crate::engine::{ENGINES, Engine};
use crate::error::{Error, Result};
use crate::model::Target;

/// What the arguments say about where.
pub struct Where {
    pub data_dir: PathBuf,
    pub server_bin: Option<PathBuf>,
    pub port: Option<u16>,
}

/// Reads the TARGET argument.
///
/// # Errors
/// Unknown engine or URL scheme, naming what exists; a URL that carries a password.
pub fn parse(text: &str, place: Where) -> Result<Target> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return existing(text, scheme, rest);
    }
    let engine =
        ENGINES.iter().find(|engine| engine.name() == text.to_ascii_lowercase()).ok_or_else(|| unknown(text))?;
    if !engine.is_target() {
        return Err(Error::usage("TARGET", format!("'{text}' holds no data and measures our own loop only"))
            .advise("run 'dbdyno overhead'"));
    }
    let name = engine.name().to_string();
    let Where { data_dir, server_bin, port } = place;
    Ok(if engine.capabilities().private_server {
        Target::Private { engine: name, data_dir, server_bin, port }
    } else {
        Target::Embedded { engine: name, data_dir }
    })
}

fn existing(url: &str, scheme: &str, rest: &str) -> Result<Target> {
    let speaks = |engine: &&&dyn Engine| engine.capabilities().url_schemes.contains(&scheme);
    let engine = ENGINES.iter().find(speaks).ok_or_else(|| {
        let schemes: Vec<_> = ENGINES.iter().flat_map(|engine| engine.capabilities().url_schemes).copied().collect();
        Error::usage("TARGET", format!("no engine for URLs that begin with '{scheme}://'"))
            .advise(format!("known: {}", schemes.join(", ")))
    })?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let has_password = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    if has_password || rest.to_ascii_lowercase().contains("password=") {
        // The URL itself must not be echoed: it holds the password.
        return Err(Error::usage("TARGET", "the URL holds a password, which every user of this machine can see")
            .advise(
                "leave it out and set PGPASSWORD or MYSQL_PWD, use ~/.pgpass or ~/.my.cnf, or type it when asked",
            ));
    }
    Ok(Target::Existing { engine: engine.name().to_string(), url: url.to_string() })
}

fn unknown(text: &str) -> Error {
    let names: Vec<_> = ENGINES.iter().filter(|engine| engine.is_target()).map(|engine| engine.name()).collect();
    let nearest = names.iter().max_by(|a, b| strsim::jaro_winkler(a, text).total_cmp(&strsim::jaro_winkler(b, text)));
    let hint = nearest.filter(|name| strsim::jaro_winkler(name, text) > 0.75);
    let question = hint.map_or(String::new(), |name| format!("did you mean '{name}'? "));
    Error::usage("TARGET", format!("'{text}' is no engine and no URL"))
        .advise(format!("{question}known: {}, or a URL such as postgres://user@host:port/db", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target> {
        parse(text, Where { data_dir: "/data".into(), server_bin: None, port: None })
    }

    #[test]
    fn names_are_embedded_or_private_and_urls_are_existing() {
        assert!(matches!(read("sqlite"), Ok(Target::Embedded { .. })));
        assert!(matches!(read("postgres"), Ok(Target::Private { .. })));
        for scheme in ["mariadb", "mysql"] {
            assert_eq!(read(&format!("{scheme}://me@db")).unwrap().engine(), "mariadb");
        }
        let url = read("postgres://me@db.example:5432/app").unwrap();
        assert_eq!(url.label(), "postgres://me@db.example:5432/app");
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_echoed() {
        for url in ["postgres://me:secret@db/app", "postgres://db/app?user=me&password=secret", "mysql://me:secret@db"]
        {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains("PGPASSWORD or MYSQL_PWD") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_unknown_engine_names_the_nearest() {
        assert!(read("postgress").unwrap_err().to_string().contains("did you mean 'postgres'?"));
        assert_eq!(read("ftp://x").unwrap_err().kind.exit_code(), 2);
    }
}
