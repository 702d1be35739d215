//! A PostgreSQL server that encrypts, by a certificate of its own.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dbdyno::engine::{self, Access, ConnectTo, Database};
use dbdyno::error::Result;
use dbdyno::model::Target;
use dbdyno::server::PrivateServer;
use secrecy::SecretString;

use super::failed;

/// Number of attempts, and the time between them, to see that the server encrypts.
const MAX_POLLS: u32 = 200;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A port of the loopback interface that nobody uses.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| failed("127.0.0.1", error.to_string()))
}

/// Gives the server a certificate and its superuser a password: the URL to reach it by, and the
/// password. A copy of the certificate, by which the server is verified, goes to `directory`.
pub fn encrypt(
    server: &PrivateServer,
    port: u16,
    directory: &Path,
) -> Result<(String, SecretString)> {
    let database = open_database(&server.url(), None)?;
    let mut session = database.session().map_err(|error| error.at("peers"))?;
    let mut query = |sql: &str| session.query(sql, &[]).map_err(|error| error.at("peers"));
    let data = query("show data_directory")?;
    let certificate = write_certificate(Path::new(data.scalar().unwrap_or_default()), directory)
        .map_err(|error| failed("tls", error.to_string()))?;
    let password = format!("{:x}", RandomState::new().hash_one(port));
    for sql in [
        &format!("alter role current_user password '{password}'"),
        "alter system set ssl = on",
        "select pg_reload_conf()",
    ] {
        query(sql)?;
    }
    // Both sides verify the server: a password goes to no other.
    let url = format!(
        "postgres://dbdyno@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={}",
        certificate.display()
    );
    let password = SecretString::from(password);
    // The server takes a moment to read its settings.
    for _ in 0..MAX_POLLS {
        if open_database(&url, Some(password.clone())).is_ok() {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    open_database(&url, Some(password.clone())).map(|_| (url, password))
}

/// Under the names that the server looks for, for its user alone; and the certificate where others
/// may read it.
fn write_certificate(data: &Path, directory: &Path) -> std::io::Result<PathBuf> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()])
        .map_err(std::io::Error::other)?;
    let (owner, certificate) = (std::fs::metadata(data)?, made.cert.pem());
    for (name, text) in
        [("server.crt", &certificate), ("server.key", &made.signing_key.serialize_pem())]
    {
        let path = data.join(name);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        chown(&path, Some(owner.uid()), Some(owner.gid()))?;
    }
    let path = directory.join("server.crt");
    std::fs::write(&path, certificate).map(|()| path)
}

fn open_database(url: &str, password: Option<SecretString>) -> Result<Box<dyn Database>> {
    let engine =
        engine::find("postgres").ok_or_else(|| failed("postgres", "is not compiled in"))?;
    let target = Target::Existing { engine: "postgres".into(), url: url.into() };
    let to = ConnectTo { url: Some(url.into()), password, ..ConnectTo::new(target) };
    engine.open(&to, Access::Provision).map_err(|error| error.at("peers"))
}
