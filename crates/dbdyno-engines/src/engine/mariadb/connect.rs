//! Opens connections: socket, greeting, login, settings.

use std::io;
use std::path::Path;

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;
use secrecy::{ExposeSecret, SecretString};

use super::error;
use super::options::ClientOptions;
use super::product::Product;
use super::reply;
use super::url::{Config, ServerKey};
use super::wire::Wire;
use crate::engine::remote::{Host, Laps, Passwords, Tls, TlsMode, check_peer, first_that_answers};
use crate::engine::{EngineError, ErrorClass};
use dbdyno_core::error::quote;
use dbdyno_core::model::Connects;

/// Longest packet that we announce.
const MAX_PACKET_BYTES: u32 = 1 << 24;
/// Longest challenge of a login that a greeting can state; servers send 21 bytes.
const MAX_CHALLENGE_BYTES: u8 = i8::MAX as u8;
/// Bytes of a greeting between the server's version and the length of the challenge: number of the
/// connection (4), first part of the challenge (8), zero (1), lower half of the capabilities (2),
/// character set (1), status (2), upper half of the capabilities (2).
const BYTES_BEFORE_LENGTH: usize = 20;
/// Number of the character set (utf8mb4_general_ci).
const UTF8MB4: u8 = 45;
/// A version that knows it, as all do that we support: MySQL refuses a login whose character set is
/// not that of the request to encrypt, which is [`UTF8MB4`].
const KNOWS_UTF8MB4: (u16, u16, u16) = (8, 0, 0);
/// First bytes of the packets that carry the login on.
const MORE_DATA: u8 = 1;
const SWITCH: u8 = 0xFE;
/// Byte that follows [`MORE_DATA`] if the server of caching_sha2_password has not cached the
/// password (MySQL, "Caching SHA-2 Pluggable Authentication").
const FULL_AUTHENTICATION: u8 = 4;
/// Prefix of the version that MariaDB from 10 on reports, for old replicas.
const REPLICATION_PREFIX: &str = "5.5.5-";

/// An open connection and what the server said about itself.
pub(super) struct Connection {
    pub wire: Wire,
    /// Version as the server reports it: `10.11.6-MariaDB`.
    pub server_version: String,
    pub product: &'static Product,
    /// Number of the session, to end its statements by.
    pub id: u32,
    /// The host that answered.
    pub host: Host,
    /// True if the server runs on this host: reached over a Unix socket or a loopback address.
    pub local: bool,
    /// Time to open it, and login method.
    pub opened: Connects,
    pub login: String,
}

/// Opens a connection to the first host that answers.
///
/// # Errors
/// Nobody listens, wrong user or password, no such database, too many connections.
pub(super) fn connect(
    config: &Config,
    options: &ClientOptions,
    passwords: &Passwords,
) -> Result<Connection, EngineError> {
    let known = passwords.common_password().or_else(|| passwords.password_of(""));
    let mut connection = connect_with(config, known.clone()).or_else(|error| {
        let refused = error.class == ErrorClass::Denied && known.is_none() && config.wants_password;
        if !refused {
            return Err(error);
        }
        connect_with(config, Some(passwords.find(&config.user, "", || options.file_password())?))
    })?;
    connection.wire.read_timeout(None);
    Ok(connection)
}

fn connect_with(
    config: &Config,
    password: Option<SecretString>,
) -> Result<Connection, EngineError> {
    first_that_answers(&config.hosts, |host| {
        let mut connection = connect_host(config, host, password.as_ref())?;
        let (config, to, password) = (config.clone(), host.clone(), password.clone());
        let timeouts = config.timeouts.clone();
        let answers = move || answers(&config, &to, password.as_ref());
        connection.wire.watch(host.watch(&timeouts, answers));
        Ok(connection)
    })
}

/// True if the server lets somebody in, or says why not, on a connection of its own: connections
/// that end before the login are errors to it, after some of which it lets nobody of this host in.
fn answers(config: &Config, host: &Host, password: Option<&SecretString>) -> bool {
    match connect_host(config, host, password) {
        Ok(mut connection) => {
            connection.wire.quit(config.timeouts.connect_timeout());
            true
        }
        Err(error) => error.code.is_some(),
    }
}

fn connect_host(
    config: &Config,
    host: &Host,
    password: Option<&SecretString>,
) -> Result<Connection, EngineError> {
    let (mut laps, mut opened) = (Laps::begin(), Connects { opened: 1, ..Connects::default() });
    let (stream, local) = host.connect(&config.timeouts)?;
    opened.reach_s = laps.lap_s();
    if password.is_some() || config.peer.is_some() {
        check_peer(host, &stream, config.peer.as_deref())?;
    }
    let mut wire = Wire::new(stream);
    wire.read_timeout(Some(config.timeouts.connect_timeout()));
    let greeting = greeting(&mut wire)?;
    wire.end_greeting();
    let flags =
        capabilities(&greeting, config.product) | wanted_encryption(host, &config.tls, &greeting)?;
    let encrypted = flags.contains(CapabilityFlags::CLIENT_SSL);
    if let (true, Host::Tcp { name, .. }) = (encrypted, host) {
        opened.login_s = laps.lap_s();
        ask_for_encryption(&mut wire, flags, &greeting)?;
        wire = wire.encrypt(&config.tls, name)?;
        opened.encrypt_s = laps.lap_s();
    }
    let socket = matches!(host, Host::Socket(_));
    let server_key = match &config.server_key {
        ServerKey::File(path) if !socket && !encrypted => Some(public_key(path)?),
        _ => None,
    };
    let may_ask = config.server_key == ServerKey::Asked;
    let is_verified = encrypted && config.tls.mode >= TlsMode::VerifyCa;
    let mut login = Login {
        password,
        socket,
        encrypted,
        may_tell: is_verified || config.clear_text,
        flags,
        nonce: greeting.nonce(),
        server_key,
        may_ask,
    };
    let can_encrypt = greeting.capabilities().contains(CapabilityFlags::CLIENT_SSL);
    let method = login.run(&mut wire, config, &greeting).map_err(|error| match error.class {
        // A server that takes encrypted connections only says no more than that access is denied.
        ErrorClass::Denied if can_encrypt && !socket && !encrypted && error.code.is_some() => error
            .advised(
                "check user and password; does the server want encryption (ssl-mode=required)?",
            ),
        _ => error,
    })?;
    opened.login_s += laps.lap_s();
    let version = greeting.server_version_str();
    let server_version = version.strip_prefix(REPLICATION_PREFIX).unwrap_or(&version).to_owned();
    Ok(Connection {
        wire,
        server_version,
        product: config.product,
        id: greeting.connection_id(),
        host: host.clone(),
        local,
        opened,
        login: method,
    })
}

/// The text of a file with a server's public key.
fn public_key(path: &Path) -> Result<Vec<u8>, EngineError> {
    std::fs::read(path).map_err(|error| {
        EngineError::new(ErrorClass::Denied, format!("{} cannot be read ({error})", path.display()))
            .advised("give the PEM file of the server's public key")
    })
}

/// The flag of encryption, if it is wanted and to be had.
fn wanted_encryption(
    host: &Host,
    tls: &Tls,
    greeting: &HandshakePacket<'_>,
) -> Result<CapabilityFlags, EngineError> {
    let offered = greeting.capabilities() & CapabilityFlags::CLIENT_SSL;
    match host {
        Host::Socket(_) => Ok(CapabilityFlags::empty()),
        Host::Tcp { .. } if tls.mode == TlsMode::Disable => Ok(CapabilityFlags::empty()),
        Host::Tcp { .. } if offered.is_empty() && tls.mode > TlsMode::Prefer => {
            Err(EngineError::new(ErrorClass::Denied, "the server cannot encrypt its connections")
                .advised(
                    "give it a certificate (ssl_cert, ssl_key), or use ssl-mode=preferred over a \
                 network that you trust",
                ))
        }
        Host::Tcp { .. } => Ok(offered),
    }
}

/// The head of a login, which asks to go on encrypted: what we can do, longest packet, character
/// set, and MariaDB's own flags.
fn ask_for_encryption(
    wire: &mut Wire,
    flags: CapabilityFlags,
    greeting: &HandshakePacket<'_>,
) -> Result<(), EngineError> {
    let payload = wire.payload();
    payload.extend_from_slice(&flags.bits().to_le_bytes());
    payload.extend_from_slice(&MAX_PACKET_BYTES.to_le_bytes());
    payload.push(UTF8MB4);
    payload.extend_from_slice(&[0; 19]);
    payload.extend_from_slice(&supported_extensions(greeting).bits().to_le_bytes());
    wire.flush()
}

/// MariaDB's own extensions that the server offers and dbdyno supports.
fn supported_extensions(greeting: &HandshakePacket<'_>) -> MariadbCapabilities {
    let wanted = MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
        | MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS;
    greeting.mariadb_ext_capabilities() & wanted
}

/// Gives a new session our settings.
///
/// # Errors
/// The server's.
pub(super) fn set_up(connection: &mut Connection) -> Result<(), EngineError> {
    reply::run(&mut connection.wire, connection.product.session_settings).map(|_| ())
}

fn greeting(wire: &mut Wire) -> Result<HandshakePacket<'static>, EngineError> {
    let payload = wire.packet()?;
    if payload.first() == Some(&error::ERROR) {
        return Err(error::from_packet(payload, ""));
    }
    parse_greeting(payload).map_err(|error| error::from_io(&error))
}

/// The greeting in a payload, with the challenge of the login.
///
/// # Errors
/// If it is not one, or its challenge is longer than [`MAX_CHALLENGE_BYTES`].
fn parse_greeting(payload: &[u8]) -> io::Result<HandshakePacket<'static>> {
    // The parser computes with the length as a signed byte, and panics where that overflows.
    if challenge_bytes(payload).is_some_and(|length| length > MAX_CHALLENGE_BYTES) {
        let message = "its challenge is longer than the protocol allows";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let greeting = ParseBuf(payload).parse::<HandshakePacket<'_>>(());
    greeting.map(HandshakePacket::into_owned).map_err(|error| invalid(&error))
}

/// The length of the challenge that a greeting states: protocol version, name of the server's
/// version up to a zero, then [`BYTES_BEFORE_LENGTH`].
fn challenge_bytes(payload: &[u8]) -> Option<u8> {
    let version = payload.get(1..)?;
    let after_version = 1 + version.iter().position(|&byte| byte == 0)?;
    version.get(after_version + BYTES_BEFORE_LENGTH).copied()
}

fn invalid(error: &io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// Capabilities that the server offers and dbdyno supports.
fn capabilities(greeting: &HandshakePacket<'_>, product: &Product) -> CapabilityFlags {
    let several = CapabilityFlags::CLIENT_MULTI_STATEMENTS;
    let wanted = (if product.several_statements { several } else { CapabilityFlags::empty() })
        | CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    wanted & greeting.capabilities()
}

/// A login under way.
struct Login<'a> {
    password: Option<&'a SecretString>,
    /// True for a Unix socket, where nobody can listen in.
    socket: bool,
    /// True for an encrypted connection.
    encrypted: bool,
    /// The server at the end of an encrypted connection may be told the password: it is verified,
    /// or the user wants it so.
    may_tell: bool,
    flags: CapabilityFlags,
    nonce: Vec<u8>,
    /// Public key of the server, which encrypts the password if the connection is not encrypted.
    server_key: Option<Vec<u8>>,
    /// The server may be asked for it.
    may_ask: bool,
}

impl Context for &Login<'_> {
    fn pass(&self) -> &[u8] {
        self.password.map_or(&[], |password| password.expose_secret().as_bytes())
    }
    fn is_ipc_transport(&self) -> bool {
        self.socket
    }
    fn is_tls_transport(&self) -> bool {
        self.encrypted
    }
    fn scramble(&self) -> &[u8] {
        &self.nonce
    }
    fn server_key_pem(&self) -> Option<&[u8]> {
        self.server_key.as_deref()
    }
}

impl Login<'_> {
    /// Sends who we are, and answers the server until it is satisfied; the method that it asked
    /// for.
    fn run(
        &mut self,
        wire: &mut Wire,
        config: &Config,
        greeting: &HandshakePacket<'_>,
    ) -> Result<String, EngineError> {
        let flags = self.flags;
        if !flags
            .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF | CapabilityFlags::CLIENT_PLUGIN_AUTH)
        {
            return Err(EngineError::new(
                ErrorClass::TooOld,
                "the server speaks an old form of the protocol",
            )
            .advised("use MariaDB 10.6 or newer"));
        }
        let mut plugin = AuthPlugin::MysqlNativePassword;
        let mut procedure = start(&plugin)?;
        let nonce = self.nonce.clone();
        let first = self.answer(&mut procedure, &nonce)?.unwrap_or_default();
        let database = config.database.as_deref().map(str::as_bytes);
        let user = Some(config.user.as_bytes());
        let response = HandshakeResponse::new(
            Some(first),
            KNOWS_UTF8MB4,
            user,
            database,
            Some(plugin.clone()),
            flags,
            None,
            MAX_PACKET_BYTES,
        );
        response
            .with_mariadb_ext_capabilities(supported_extensions(greeting))
            .serialize(wire.payload());
        wire.flush()?;
        loop {
            let payload = wire.packet()?.to_vec();
            let answer = match payload.first() {
                Some(0) => return Ok(String::from_utf8_lossy(plugin.as_bytes()).into_owned()),
                Some(&error::ERROR) => return Err(error::from_packet(&payload, "")),
                Some(&SWITCH) => {
                    let request = ParseBuf(&payload).parse::<AuthSwitchRequest<'_>>(());
                    let request = request.map_err(|error| error::from_io(&invalid(&error)))?;
                    plugin = request.auth_plugin().into_owned();
                    self.nonce = request.plugin_data().to_vec();
                    let nonce = self.nonce.clone();
                    self.switch_method(&plugin, &mut procedure, &nonce)?
                }
                Some(&MORE_DATA) => {
                    if payload[1..] == [FULL_AUTHENTICATION] {
                        self.refuse_unknown_key()?;
                    }
                    self.answer(&mut procedure, &payload[1..])?
                }
                _ => return Err(unsupported_method_error(&plugin)),
            };
            if let Some(answer) = answer {
                wire.payload().extend_from_slice(&answer);
                wire.flush()?;
            }
        }
    }

    /// The first answer to another method. The operating system knows the user of a socket: nothing
    /// is to be said.
    fn switch_method(
        &self,
        plugin: &AuthPlugin<'_>,
        procedure: &mut AuthProc,
        nonce: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if matches!(plugin.as_bytes(), b"unix_socket" | b"auth_socket") {
            return Ok(Some(Vec::new()));
        }
        if matches!(plugin, AuthPlugin::Sha256Password) {
            self.refuse_unknown_key()?;
        }
        if matches!(plugin, AuthPlugin::MysqlClearPassword) && !self.socket {
            if !self.encrypted {
                return Err(EngineError::new(
                    ErrorClass::Denied,
                    "the server wants the password in clear text",
                )
                .advised(
                    "let it encrypt (ssl-mode=verify_ca), connect over its Unix socket, or give \
                     the user another authentication method",
                ));
            }
            self.refuse_stranger()?;
        }
        *procedure = start(plugin)?;
        self.answer(procedure, nonce)
    }

    /// Nobody shall get the password by a key of their own.
    fn refuse_unknown_key(&self) -> Result<(), EngineError> {
        if self.socket || self.may_ask || self.server_key.is_some() {
            return Ok(());
        }
        if self.encrypted {
            return self.refuse_stranger();
        }
        Err(EngineError::new(
            ErrorClass::Denied,
            "the server wants the password, and the connection is not encrypted",
        )
        .advised("use ssl-mode=required, or server-public-key-path=FILE with the server's key"))
    }

    /// An encrypted connection may end at anybody, as long as nobody has verified the server.
    fn refuse_stranger(&self) -> Result<(), EngineError> {
        if self.may_tell {
            return Ok(());
        }
        Err(EngineError::new(
            ErrorClass::Denied,
            "the server wants the password itself, and nobody has verified who the server is",
        )
        .advised(
            "verify it (ssl-mode=verify_identity&ssl-ca=FILE); enable-cleartext-plugin=1 gives the \
             password to any server that answers",
        ))
    }

    fn answer(
        &self,
        procedure: &mut AuthProc,
        challenge: &[u8],
    ) -> Result<Option<Vec<u8>>, EngineError> {
        match procedure.run(self, challenge) {
            Ok(Response::Next { packet } | Response::Last { packet }) => Ok(packet),
            Err(error) => Err(EngineError::new(
                ErrorClass::Denied,
                format!("authentication failed ({error})"),
            )
            .advised(
                "use ssl-mode=required or the server's Unix socket, or give the user \
                          mysql_native_password or ed25519",
            )),
        }
    }
}

fn start(plugin: &AuthPlugin<'_>) -> Result<AuthProc, EngineError> {
    // Its hash of the password, from before MySQL 4.1, can be undone.
    if matches!(plugin, AuthPlugin::MysqlOldPassword) {
        return Err(unsupported_method_error(plugin));
    }
    plugin.init().map_err(|_| unsupported_method_error(plugin))
}

fn unsupported_method_error(plugin: &AuthPlugin<'_>) -> EngineError {
    let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
    let message = format!(
        "the server wants the authentication method {}, which is not supported",
        quote(name)
    );
    EngineError::new(ErrorClass::Denied, message)
        .advised("use mysql_native_password, ed25519 or unix_socket for this user")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greeting of a MariaDB 10.11, recorded.
    const GREETING: &[u8] = b"\n5.5.5-10.11.19-MariaDB\0\x07\0\0\0i{NT;gxG\0\xfe\xf7-\x02\0\
        \xff\x81\x15\0\0\0\0\0\0\x1d\0\0\09$J)+>3'iZi~\0mysql_native_password\0";

    #[test]
    fn the_length_of_a_challenge_is_found() {
        assert_eq!(challenge_bytes(GREETING), Some(21));
        assert!(parse_greeting(GREETING).is_ok());
        assert_eq!(challenge_bytes(b""), None);
        assert_eq!(challenge_bytes(b"\n5.5.5"), None);
        assert_eq!(challenge_bytes(b"\n5.5.5\0"), None);
    }

    #[test]
    fn a_greeting_with_any_byte_replaced_or_cut_off_does_not_panic() {
        for at in 0..GREETING.len() {
            let _ = parse_greeting(&GREETING[..at]);
            for byte in 0..=u8::MAX {
                let mut greeting = GREETING.to_vec();
                greeting[at] = byte;
                let _ = parse_greeting(&greeting);
            }
        }
    }

    #[test]
    fn a_challenge_longer_than_the_protocol_allows_is_refused() {
        let length_at = GREETING.iter().position(|&byte| byte == 21).unwrap();
        for length in 128..=u8::MAX {
            let mut greeting = GREETING.to_vec();
            greeting[length_at] = length;
            assert!(parse_greeting(&greeting).is_err(), "{length}");
        }
    }
}
