//! Opens connections: socket, startup, authentication, settings.

use std::io;
use std::time::Instant;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use secrecy::{ExposeSecret, SecretString};

use super::error;
use super::password::from_file;
use super::provision::pooler_error;
use super::url::{Binding, CLEAR_TEXT, Config, NO_METHOD, Pooling};
use super::wire::Wire;
use crate::engine::remote::{
    ConnectTimeouts, Host, Laps, Passwords, Stream, Tls, TlsMode, check_peer, first_that_answers,
};
use crate::engine::{EngineError, ErrorClass};
use dbdyno_core::model::Connects;

/// Schemas in which a name without one is looked for: the system's, so that nobody who may create
/// in a schema of the database decides what our statements mean (PostgreSQL manual, "Schemas",
/// "Usage Patterns"). Sent as the session begins, it goes before all that is set for the database
/// or the role.
pub(super) const SEARCH_PATH: &str = "pg_catalog, pg_temp";

/// Settings of all our sessions: nothing on the server may cut a long statement short.
const SESSION_SETTINGS: &[(&str, &str)] = &[
    ("search_path", SEARCH_PATH),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO"),
    ("statement_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
];

/// The settings that poolers pass on, in the server's own spelling. Of another one, as `ISO` of
/// `ISO, MDY`, a pooler makes a statement before each transaction.
const PASSED_ON: [&str; 1] = ["client_encoding"];

/// The settings of every session, with these on top, that poolers do not pass on.
pub(super) fn not_passed_on<'a>(
    settings: &'a [(&'a str, &'a str)],
) -> impl Iterator<Item = &'a (&'a str, &'a str)> {
    SESSION_SETTINGS.iter().chain(settings).filter(|(name, _)| !PASSED_ON.contains(name))
}

/// Settings of job sessions, the same that the harness states: one job keeps one backend busy,
/// compiling would blur short tests, and the plan is the same from the first op on.
pub(super) const JOB_SETTINGS: &[(&str, &str)] = &[
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_parallel_maintenance_workers", "0"),
    ("plan_cache_mode", "force_generic_plan"),
    ("default_transaction_isolation", "read committed"),
];

/// An open connection and what the server said about itself.
pub(super) struct Connection {
    pub wire: Wire,
    /// `server_version` as the server reports it.
    pub server_version: String,
    /// Process id of the backend, as the server knows it.
    pub backend_pid: Option<u32>,
    /// Key that cancels a statement of this session.
    pub cancel_key: CancelKey,
    /// True if the server runs on this host: reached over a Unix socket or a loopback address.
    pub local: bool,
    /// Time to open it.
    pub opened: Connects,
    /// Login method.
    pub login: String,
}

/// Opens a connection to the first host that answers, with `settings` on top of the ones of every
/// session.
///
/// # Errors
/// Nobody listens, wrong user or password, no such database, too many connections.
pub(super) fn connect(
    config: &Config,
    passwords: &Passwords,
    settings: &[(&str, &str)],
) -> Result<Connection, EngineError> {
    first_that_answers(&config.hosts, |host| {
        let mut connection = connect_host(config, host, passwords, settings)?;
        let (to, timeouts) = (host.clone(), config.timeouts.clone());
        connection.wire.watch(host.watch(&config.timeouts, move || answers(&to, &timeouts)));
        Ok(connection)
    })
}

/// Name of our sessions, as the server shows it.
pub(super) fn application() -> String {
    format!("dbdyno-{}", std::process::id())
}

/// True if the server answers a question that needs no login, on a connection of its own.
fn answers(host: &Host, timeouts: &ConnectTimeouts) -> bool {
    host.connect(timeouts).is_ok_and(|(mut stream, _)| {
        stream.set_read_timeout(Some(timeouts.connect_timeout()));
        request_encryption(&mut stream).is_ok()
    })
}

fn connect_host(
    config: &Config,
    host: &Host,
    passwords: &Passwords,
    settings: &[(&str, &str)],
) -> Result<Connection, EngineError> {
    let mut opened = Connects { opened: 1, ..Connects::default() };
    let (stream, local) = open(host, &config.tls, &config.timeouts, &mut opened)?;
    let mut laps = Laps::begin();
    if config.peer.is_some() {
        check_peer(host, &stream, config.peer.as_deref())?;
    }
    let mut wire = Wire::new(stream);
    wire.read_timeout(Some(config.timeouts.connect_timeout()));
    let identity = [("user", config.user.as_str()), ("database", config.database.as_str())];
    // With our process id: a session tells those of this process from those of another.
    let application = application();
    let name = [("application_name", application.as_str())];
    let is_sent =
        |(name, _): &&(&str, &str)| config.pooling == Pooling::None || PASSED_ON.contains(name);
    let settings = SESSION_SETTINGS.iter().chain(settings).filter(is_sent);
    let parameters = identity.iter().chain(&name).chain(settings).copied();
    frontend::startup_message(parameters, &mut wire.output).map_err(|_| {
        EngineError::new(ErrorClass::Other, "user and database must not hold a zero byte")
    })?;
    wire.flush()?;
    let cancel_key = CancelKey {
        host: host.clone(),
        tls: config.tls.clone(),
        timeouts: config.timeouts.clone(),
        pid: 0,
        secret: 0,
    };
    let mut connection = Connection {
        wire,
        server_version: String::new(),
        backend_pid: None,
        cancel_key,
        local,
        opened,
        login: String::new(),
    };
    connection.login = authenticate(&mut connection.wire, config, host, passwords)?;
    connection.opened.login_s = laps.lap_s();
    await_ready(&mut connection)?;
    connection.opened.start_s = laps.lap_s();
    connection.wire.read_timeout(None);
    Ok(connection)
}

/// Request for encryption (PostgreSQL manual, "SSLRequest"): length and code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A stream to the server, encrypted as it is to be. True if the server runs on this host. `opened`
/// is told what either took.
fn open(
    host: &Host,
    tls: &Tls,
    timeouts: &ConnectTimeouts,
    opened: &mut Connects,
) -> Result<(Stream, bool), EngineError> {
    let mut laps = Laps::begin();
    let (mut stream, local) = host.connect(timeouts)?;
    opened.reach_s = laps.lap_s();
    let name = match host {
        Host::Tcp { name, .. } if tls.mode != TlsMode::Disable => name,
        _ => return Ok((stream, local)),
    };
    stream.set_read_timeout(Some(timeouts.connect_timeout()));
    let outcome = encrypt(stream, name, tls);
    opened.encrypt_s = laps.lap_s();
    match outcome {
        Ok(stream) => Ok((stream, local)),
        // As good as the server can. A new connection: what was said on this one is not what a
        // login begins with.
        Err(_) if tls.mode == TlsMode::Prefer => host.connect(timeouts),
        Err(error) => Err(error),
    }
}

/// The stream, encrypted if the server can; it must if the mode says so.
fn encrypt(mut stream: Stream, host: &str, tls: &Tls) -> Result<Stream, EngineError> {
    if tls.protocol.is_some() || request_encryption(&mut stream)? {
        return tls.encrypt(stream, host);
    }
    if tls.mode == TlsMode::Prefer {
        return Ok(stream);
    }
    Err(EngineError::new(ErrorClass::Denied, "the server cannot encrypt its connections")
        .advised("set ssl = on there, or use sslmode=prefer over a network that you trust"))
}

/// Asks for encryption; true if the server goes on encrypted. It answers with one byte: what
/// followed could be from somebody else.
fn request_encryption(stream: &mut Stream) -> Result<bool, EngineError> {
    let mut answer = [0];
    let answered = stream.write_all(&SSL_REQUEST).and_then(|()| stream.read(&mut answer));
    match answered.map_err(|error| error::from_io(&error))? {
        0 => Err(error::lost("the server closed the connection")),
        _ if answer == *b"S" => Ok(true),
        _ if answer == *b"N" => Ok(false),
        _ => Err(error::lost("the server does not answer whether it encrypts")),
    }
}

/// Answers the server's authentication request until it is satisfied; the method that it asked for.
fn authenticate(
    wire: &mut Wire,
    config: &Config,
    host: &Host,
    passwords: &Passwords,
) -> Result<String, EngineError> {
    let password = || passwords.find(&config.user, &host.address(), || from_file(config, host));
    let request = wire.message()?;
    let asked = method(&request).unwrap_or_default();
    config.methods.check(method(&request))?;
    if method(&request).is_some_and(|name| name != NO_METHOD) {
        check_peer(host, wire.stream(), config.peer.as_deref())?;
    }
    if config.binding == Binding::Require
        && !matches!(request, Message::AuthenticationSasl(_) | Message::ErrorResponse(_))
    {
        return Err(unbound());
    }
    match request {
        Message::AuthenticationOk => return Ok("no password".into()),
        Message::AuthenticationCleartextPassword => {
            refuse_strangers(config, host, wire)?;
            encode(frontend::password_message(
                password()?.expose_secret().as_bytes(),
                &mut wire.output,
            ))?;
        }
        Message::AuthenticationMd5Password(request) => {
            let hash = md5_hash(
                config.user.as_bytes(),
                password()?.expose_secret().as_bytes(),
                request.salt(),
            );
            encode(frontend::password_message(hash.as_bytes(), &mut wire.output))?;
        }
        Message::AuthenticationSasl(request) => {
            let offers =
                |wanted| request.mechanisms().any(|name| Ok(name == wanted)).unwrap_or(false);
            let (mechanism, binding) =
                choose_mechanism(config.binding, wire.end_point(), offers(SCRAM_SHA_256_PLUS))?;
            if !offers(mechanism) {
                return Err(unsupported_method());
            }
            let iterations = scram(wire, &password()?, mechanism, binding)?;
            return Ok(format!("{mechanism}, {iterations} iterations"));
        }
        Message::ErrorResponse(response) => return Err(startup_error(&response)),
        _ => return Err(unsupported_method()),
    }
    wire.flush()?;
    expect_ok(wire).map(|()| asked.into())
}

/// A server knows every setting of ours that it is asked for; a pooler refuses those that it does
/// not pass on.
fn startup_error(response: &ErrorResponseBody) -> EngineError {
    let error = error::from_response(response, "");
    if error.message.contains("unsupported startup parameter") { pooler_error() } else { error }
}

/// Authentication method that a server asks for, by its name in `require_auth`; none for a request
/// that cannot be answered.
fn method(request: &Message) -> Option<&'static str> {
    match request {
        Message::AuthenticationOk => Some(NO_METHOD),
        Message::AuthenticationCleartextPassword => Some(CLEAR_TEXT),
        Message::AuthenticationMd5Password(_) => Some("md5"),
        Message::AuthenticationSasl(_) => Some("scram-sha-256"),
        _ => None,
    }
}

/// A password in clear text goes only where nobody can listen in, and to a server that was
/// verified, unless the user wants it so.
fn refuse_strangers(config: &Config, host: &Host, wire: &Wire) -> Result<(), EngineError> {
    let wants = "the server wants the password in clear text";
    let denied = |why: &str| EngineError::new(ErrorClass::Denied, format!("{wants}{why}"));
    match host {
        Host::Socket(_) => Ok(()),
        Host::Tcp { .. } if !wire.is_encrypted() => Err(denied("").advised(
            "let it encrypt (ssl = on) or ask for scram-sha-256, or connect over its Unix socket",
        )),
        Host::Tcp { .. }
            if config.tls.mode >= TlsMode::VerifyCa || config.methods.names(CLEAR_TEXT) =>
        {
            Ok(())
        }
        Host::Tcp { .. } => Err(denied(", and nobody has verified who the server is").advised(
            "let it ask for scram-sha-256, or verify it (sslmode=verify-full&sslrootcert=FILE); \
             require_auth=password gives the password to any server that answers",
        )),
    }
}

/// The mechanism of a login, and whether it is bound to this connection.
fn choose_mechanism(
    wanted: Binding,
    end_point: Option<Vec<u8>>,
    plus: bool,
) -> Result<(&'static str, ChannelBinding), EngineError> {
    match end_point.filter(|_| wanted != Binding::Disable) {
        Some(hash) if plus => Ok((SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))),
        _ if wanted == Binding::Require => Err(unbound()),
        // The server learns that we could: if it could, too, somebody between has kept it from
        // saying so.
        Some(_) => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
        None => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
    }
}

fn unbound() -> EngineError {
    EngineError::new(
        ErrorClass::Denied,
        "channel_binding=require: the server does not bind the login to this connection",
    )
    .advised(
        "let it ask for scram-sha-256 over an encrypted connection, or use channel_binding=prefer",
    )
}

/// SCRAM-SHA-256 (RFC 7677); the server must prove that it knows the password too. The iterations
/// that it asked for.
fn scram(
    wire: &mut Wire,
    password: &SecretString,
    mechanism: &str,
    binding: ChannelBinding,
) -> Result<String, EngineError> {
    let mut exchange = ScramSha256::new(password.expose_secret().as_bytes(), binding);
    encode(frontend::sasl_initial_response(mechanism, exchange.message(), &mut wire.output))?;
    wire.flush()?;
    let iterations = match wire.message()? {
        Message::AuthenticationSaslContinue(body) => {
            let asked = String::from_utf8_lossy(body.data())
                .split(',')
                .find_map(|field| field.strip_prefix("i=").map(String::from))
                .unwrap_or_default();
            encode(exchange.update(body.data()))?;
            asked
        }
        Message::ErrorResponse(response) => return Err(error::from_response(&response, "")),
        _ => return Err(unsupported_method()),
    };
    encode(frontend::sasl_response(exchange.message(), &mut wire.output))?;
    wire.flush()?;
    match wire.message()? {
        Message::AuthenticationSaslFinal(body) => encode(exchange.finish(body.data()))?,
        Message::ErrorResponse(response) => return Err(error::from_response(&response, "")),
        _ => return Err(unsupported_method()),
    }
    expect_ok(wire).map(|()| iterations)
}

fn expect_ok(wire: &mut Wire) -> Result<(), EngineError> {
    match wire.message()? {
        Message::AuthenticationOk => Ok(()),
        Message::ErrorResponse(response) => Err(error::from_response(&response, "")),
        _ => Err(unsupported_method()),
    }
}

fn unsupported_method() -> EngineError {
    EngineError::new(
        ErrorClass::Denied,
        "the server wants an authentication method that is not supported",
    )
    .advised("allow scram-sha-256, md5, peer or trust in pg_hba.conf for this user")
}

fn encode(outcome: io::Result<()>) -> Result<(), EngineError> {
    outcome.map_err(|error| {
        EngineError::new(ErrorClass::Denied, format!("authentication failed ({error})"))
    })
}

/// Reads what the server says about itself until it is ready for the first statement.
fn await_ready(connection: &mut Connection) -> Result<(), EngineError> {
    loop {
        match connection.wire.message()? {
            Message::ParameterStatus(status)
                if status.name().is_ok_and(|name| name == "server_version") =>
            {
                connection.server_version = status.value().unwrap_or_default().to_owned();
            }
            Message::BackendKeyData(key) => {
                connection.backend_pid = u32::try_from(key.process_id()).ok();
                (connection.cancel_key.pid, connection.cancel_key.secret) =
                    (key.process_id(), key.secret_key());
            }
            Message::ReadyForQuery(_) => return Ok(()),
            Message::ErrorResponse(response) => return Err(error::from_response(&response, "")),
            _ => {}
        }
    }
}

/// Address of a session's backend and the secret that cancels its statement.
#[derive(Clone)]
pub(super) struct CancelKey {
    pub host: Host,
    pub tls: Tls,
    pub timeouts: ConnectTimeouts,
    /// 0 = the server gave none.
    pub pid: i32,
    pub secret: i32,
}

impl CancelKey {
    /// Asks the server on a connection of its own (PostgreSQL manual, "Canceling Requests") to
    /// cancel the statement that runs; nothing happens if none runs. False if nobody answers.
    pub(super) fn cancel(&self) -> bool {
        let mut opened = Connects::default();
        let Ok((stream, _)) = open(&self.host, &self.tls, &self.timeouts, &mut opened) else {
            return false;
        };
        if self.pid == 0 {
            return true;
        }
        let mut request = BytesMut::new();
        frontend::cancel_request(self.pid, self.secret, &mut request);
        let (mut wire, limit) = (Wire::new(stream), self.timeouts.connect_timeout());
        wire.read_timeout(Some(limit));
        let asked_at = Instant::now();
        if wire.send(&request).is_ok() {
            // The server answers by closing the connection, after it has passed the signal on.
            let _ = wire.frame();
        }
        asked_at.elapsed() < limit
    }
}

#[cfg(test)]
mod tests {
    use super::JOB_SETTINGS;

    #[test]
    fn exported_scripts_state_the_settings_of_job_sessions() {
        let scripts = include_str!("../../../../../catalog/export/postgres.sql");
        for (name, value) in JOB_SETTINGS {
            let [bare, quoted] =
                [format!("set {name} = {value};"), format!("set {name} = '{value}';")];
            assert!(scripts.lines().any(|line| line == bare || line == quoted), "{name}");
        }
    }
}
