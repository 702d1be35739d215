//! Logs in, within a time and whatever the other side sends.
//!
//! The driver waits for answers of a login without end, and panics at some that no Oracle server
//! would give. A login runs on a thread of its own: what is late or broken is an error here. A
//! thread whose server stays silent ends with the connection.

use std::panic;
use std::sync::Once;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use oracledb::Connection;
use secrecy::{ExposeSecret, SecretString};

use super::error;
use super::provision::sql;
use super::url::{Address, Config};
use crate::engine::remote::{Passwords, from_env, in_home, private_text};
use crate::engine::{EngineError, ErrorClass};

/// Name of the threads of logins.
const LOGIN: &str = "oracle-login";
/// Name of our sessions in v$session; their module has our process id, too.
const PROGRAM: &str = "dbdyno";
/// Statements that a session keeps open.
const STATEMENT_CACHE: usize = 100;
/// The password of an encrypted key in a wallet.
const WALLET_PASSWORD: &str = "ORACLE_WALLET_PWD";
/// The file of passwords, in the home directory.
const PASSWORD_FILE: &str = ".oraclepass";

/// Opens a session on the instance `node`, where the URL names instances, with our settings.
///
/// # Errors
/// Nobody listens, the service is refused, wrong password; a setting that the server does not take.
pub(super) fn connect(
    config: &Config,
    passwords: &Passwords,
    node: Option<&str>,
) -> Result<Connection, EngineError> {
    let password = passwords.find(&config.user, "", || from_file(config))?;
    let (driver, address) = (driver_config(config, &password), config.connect_string(node));
    prepare_process();
    let asked = address.clone();
    let connection = within(limit(config), &address, move || {
        oracledb::connect(driver.set_connect_string(&asked)?)
    })?;
    for block in ["settings", "time-zone"] {
        let sql = sql(block, &[])?;
        connection.execute(&sql, &[]).map_err(|error| error::from_driver(&error, &sql))?;
    }
    let module = format!("{PROGRAM}-{}", std::process::id());
    connection.set_module(&module).map_err(|error| error::from_driver(&error, ""))?;
    check_node(config.node(node), &connection)?;
    Ok(connection)
}

fn driver_config(config: &Config, password: &SecretString) -> oracledb::Config {
    let mut driver = oracledb::Config::default()
        .set_credentials(&config.user, password.expose_secret())
        .set_stmtcachesize(STATEMENT_CACHE)
        .set_transport_connect_timeout(Some(config.connect_timeout));
    if let Ok(named) = driver.clone().set_program(PROGRAM) {
        driver = named;
    }
    if let Some(wallet) = &config.wallet {
        driver = driver.set_wallet_location(wallet.to_string_lossy());
    }
    match from_env(WALLET_PASSWORD) {
        Some(password) => driver.set_wallet_password(&password),
        None => driver,
    }
}

/// For all hosts, and the login at the one that answers.
fn limit(config: &Config) -> Duration {
    let hosts = match &config.address {
        Address::Service { hosts, .. } => hosts.len(),
        Address::Text(_) => 1,
    };
    config.connect_timeout.saturating_mul(u32::try_from(hosts).unwrap_or(1))
}

/// The result of `work` if it comes in time, and none of its panics.
fn within<T: Send + 'static>(
    limit: Duration,
    address: &str,
    work: impl FnOnce() -> Result<T, oracledb::Error> + Send + 'static,
) -> Result<T, EngineError> {
    let (done, outcome) = mpsc::channel();
    let started = thread::Builder::new().name(LOGIN.into()).spawn(move || {
        let _ = done.send(work()); // nobody waits any more: the connection is closed
    });
    started.map_err(|error| {
        EngineError::new(ErrorClass::Other, format!("no thread can be started ({error})"))
    })?;
    match outcome.recv_timeout(limit) {
        Ok(result) => result.map_err(|error| error::of_login(&error, address)),
        Err(RecvTimeoutError::Timeout) => Err(error::silent(address, limit)),
        Err(RecvTimeoutError::Disconnected) => Err(error::unreadable("the driver gave it up")),
    }
}

/// Once per process: the driver takes whatever provider of TLS is installed and panics if two are
/// compiled in and none is; and a panic of a login does not concern the terminal.
fn prepare_process() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // another one will do, too
        let _ = rustls::crypto::ring::default_provider().install_default();
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |news| {
            if thread::current().name() != Some(LOGIN) {
                usual(news);
            }
        }));
    });
}

/// The listener may send a session to another instance than the one that was asked for.
fn check_node(wanted: Option<&str>, connection: &Connection) -> Result<(), EngineError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let is = connection.instance_name().map_err(|error| error::from_driver(&error, ""))?;
    if is.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    let message = format!("instance {wanted} was asked for, and the session is on {is}");
    Err(EngineError::new(ErrorClass::Unreachable, message)
        .advised("name instances that run the service"))
}

/// The user's own file: lines `user/password@address`; without an address the line is for every
/// server.
fn from_file(config: &Config) -> Result<Option<SecretString>, String> {
    let text = private_text(&in_home(PASSWORD_FILE))?;
    Ok(text
        .and_then(|text| lookup(text.expose_secret(), &config.user, &config.connect_string(None))))
}

fn lookup(text: &str, user: &str, address: &str) -> Option<SecretString> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('/'))
        .filter(|(name, _)| name.eq_ignore_ascii_case(user))
        .find_map(|(_, rest)| {
            match rest.strip_suffix(address).and_then(|rest| rest.strip_suffix('@')) {
                Some(password) => Some(password.into()),
                None => (!rest.contains('@')).then(|| rest.into()),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_hangs_or_panics_is_an_error() {
        prepare_process();
        let (hold, held) = mpsc::channel::<()>();
        let late = within(Duration::from_millis(1), "db:1521/s", move || {
            let _ = held.recv();
            Ok(())
        });
        drop(hold);
        let late = late.unwrap_err();
        assert!(
            late.class == ErrorClass::Unreachable && late.message.contains("within 0.001 s"),
            "{late}"
        );
        let broken =
            within::<()>(Duration::from_secs(600), "db:1521/s", || panic!("as the driver does"));
        assert_eq!(broken.unwrap_err().class, ErrorClass::Lost);
    }

    #[test]
    fn the_line_of_the_user_and_the_server_holds_the_password() {
        let text = "# mine\nann/tig@er@db:1521/sales\nann/other\nbob/b0b";
        let found = |user, address| {
            lookup(text, user, address).map(|found| found.expose_secret().to_owned())
        };
        assert_eq!(found("ANN", "db:1521/sales").as_deref(), Some("tig@er"));
        assert_eq!(found("ann", "db2:1521/sales").as_deref(), Some("other"));
        assert_eq!((found("bob", "x").as_deref(), found("eve", "x")), (Some("b0b"), None));
    }
}
