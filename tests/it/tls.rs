//! Encrypted connections to servers with certificates of our own making: right, of another host,
//! expired, of a stranger.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sha2::{Digest, Sha256};

use crate::cli_existing::SECRET;
use crate::leftovers::Directory;
use crate::servers::{Existing, Server};
use crate::support::{Desk, Done, column, directory, newest_postgres, until};

const LOAD: &str =
    "--size 0.01 --workload SRV-QUERY25 --jobs 2 --warmup 0 --duration 100ms --format json --quiet";

/// A directory with `ca`, `stranger` and, signed by `ca`: `server` (of 127.0.0.1 until 2100),
/// `expired`, `client`.
struct Certificates(Directory);

impl Certificates {
    fn new() -> Certificates {
        let made = Certificates(directory());
        let authority = |name: &str| {
            let (mut params, key) =
                (CertificateParams::new(Vec::new()).unwrap(), KeyPair::generate().unwrap());
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(DnType::CommonName, name);
            made.write(name, &params.self_signed(&key).unwrap().pem(), &key);
            Issuer::new(params, key)
        };
        let (ca, _) = (authority("ca"), authority("stranger"));
        for (name, of, last_year) in
            [("server", "127.0.0.1", 2100), ("expired", "127.0.0.1", 2020), ("client", "me", 2100)]
        {
            let (mut params, key) = (
                CertificateParams::new(vec![of.to_string()]).unwrap(),
                KeyPair::generate().unwrap(),
            );
            params.distinguished_name.push(DnType::CommonName, name);
            (params.not_before, params.not_after) =
                (date_time_ymd(2019, 1, 1), date_time_ymd(last_year, 1, 1));
            made.write(name, &params.signed_by(&key, &ca).unwrap().pem(), &key);
        }
        made
    }

    fn write(&self, name: &str, certificate: &str, key: &KeyPair) {
        std::fs::write(self.certificate(name), certificate).unwrap();
        std::fs::write(self.key(name), key.serialize_pem()).unwrap();
        if ["client", "stranger"].contains(&name) {
            std::fs::set_permissions(self.key(name), PermissionsExt::from_mode(0o600)).unwrap();
        }
    }

    fn certificate(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("{name}.crt"))
    }

    fn key(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("{name}.key"))
    }

    /// A value of a URL or a setting.
    fn text(&self, name: &str) -> String {
        self.certificate(name).display().to_string()
    }

    /// The keys for the owner of `place` alone, as a PostgreSQL server wants its own.
    fn give_keys_to_owner_of(&self, place: &Path) {
        let owner = std::fs::metadata(place).unwrap();
        for name in ["server", "expired"] {
            chown(self.key(name), Some(owner.uid()), Some(owner.gid())).unwrap();
            std::fs::set_permissions(self.key(name), std::fs::Permissions::from_mode(0o600))
                .unwrap();
        }
    }
}

/// A PostgreSQL server that encrypts.
struct Postgres {
    server: Server,
    certificates: Certificates,
}

impl Postgres {
    fn start() -> Postgres {
        let (server, certificates) = (Server::start_of(newest_postgres()), Certificates::new());
        let data = column(server.admin("postgres").as_mut(), "show data_directory");
        certificates.give_keys_to_owner_of(Path::new(&data[0]));
        server.create_user("tls", SECRET, true);
        let served = Postgres { server, certificates };
        served.set("ssl_ca_file", &served.certificates.text("ca"));
        served.present("server");
        served.set("ssl", "on");
        served.reload();
        served
    }

    fn set(&self, name: &str, value: &str) {
        self.server
            .admin("postgres")
            .execute(&format!("alter system set {name} = '{value}'"))
            .unwrap();
    }

    fn present(&self, name: &str) {
        self.set("ssl_cert_file", &self.certificates.text(name));
        self.set("ssl_key_file", &self.certificates.key(name).display().to_string());
    }

    /// Adds a rule for TCP: a line of pg_hba.conf. The superuser comes over the socket.
    fn allow(&self, line: &str) {
        let mut admin = self.server.admin("postgres");
        let path = column(admin.as_mut(), "show hba_file").remove(0);
        std::fs::write(path, format!("local all all trust\n{line}\n")).unwrap();
        self.reload();
    }

    fn reload(&self) {
        let mut admin = self.server.admin("postgres");
        let before = column(admin.as_mut(), "select pg_conf_load_time()");
        admin.execute("select pg_reload_conf()").unwrap();
        until("the settings are read", || {
            column(self.server.admin("postgres").as_mut(), "select pg_conf_load_time()") != before
        });
    }

    fn url(&self, host: &str, parameters: &str) -> String {
        format!("postgres://tls@{host}:{}/tls?{parameters}", self.server.port)
    }
}

/// A connection of a user with the password, for a command that finds nothing to do.
fn check(desk: &Desk, url: &str) -> Done {
    with_password(desk, &format!("clean {url}"))
}

fn with_password(desk: &Desk, line: &str) -> Done {
    let mut command = desk.command(line);
    command.env("PGPASSWORD", SECRET).env("MYSQL_PWD", SECRET);
    crate::support::finished(command, line)
}

#[test]
fn postgres_is_as_sure_of_the_server_as_the_url_asks() {
    let (served, desk) = (Postgres::start(), Desk::new());
    let (ca, stranger) = (served.certificates.text("ca"), served.certificates.text("stranger"));
    let verify = |mode: &str, ca: &str| format!("sslmode={mode}&sslrootcert={ca}");
    for parameters in [
        "sslmode=disable".into(),
        "sslmode=prefer".into(),
        "sslmode=require&channel_binding=require".into(),
        "sslmode=require&sslnegotiation=direct".into(),
        verify("verify-ca", &ca),
        verify("verify-full", &ca),
    ] {
        check(&desk, &served.url("127.0.0.1", &parameters)).ok();
    }
    check(&desk, &served.url("localhost", &verify("verify-ca", &ca))).ok();
    let refused = |host: &str, parameters: &str, words: &[&str]| {
        let done = check(&desk, &served.url(host, parameters));
        assert!(!done.stderr.contains(SECRET), "{done:?}");
        done.fails(3, words);
    };
    refused("localhost", &verify("verify-full", &ca), &["is not that of localhost"]);
    refused("127.0.0.1", &verify("verify-ca", &stranger), &["nobody whom you trust signed"]);
    refused("127.0.0.1", "sslmode=verify-full&sslrootcert=/nowhere", &["/nowhere", "PEM file"]);
    refused(
        "127.0.0.1",
        "sslmode=disable&channel_binding=require",
        &["channel_binding=require", "does not bind"],
    );
    served.present("expired");
    served.reload();
    refused("127.0.0.1", &verify("verify-ca", &ca), &["has expired"]);
    check(&desk, &served.url("127.0.0.1", "sslmode=require")).ok();
}

#[test]
fn postgres_gets_a_password_in_clear_text_and_a_client_certificate_over_tls_only() {
    let (served, desk) = (Postgres::start(), Desk::new());
    served.allow("host all all 127.0.0.1/32 password");
    check(&desk, &served.url("127.0.0.1", "sslmode=disable")).fails(3, &["clear text", "ssl = on"]);
    check(&desk, &served.url("127.0.0.1", "sslmode=require"))
        .fails(3, &["clear text", "nobody has verified"]);
    let verified = format!("sslmode=verify-ca&sslrootcert={}", served.certificates.text("ca"));
    for parameters in [&*verified, "sslmode=require&require_auth=password"] {
        check(&desk, &served.url("127.0.0.1", parameters)).ok();
    }
    served.allow("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca");
    check(&desk, &served.url("127.0.0.1", "sslmode=require")).fails(3, &["certificate"]);
    check(&desk, &served.url("127.0.0.1", "sslmode=disable"))
        .fails(3, &["pg_hba.conf", "no encryption"]);
    let (certificate, key) =
        (served.certificates.text("client"), served.certificates.key("client"));
    let own = format!("sslmode=require&sslcert={certificate}&sslkey={}", key.display());
    check(&desk, &served.url("127.0.0.1", &own)).ok();
    let stranger = own.replace("client.", "stranger.");
    check(&desk, &served.url("127.0.0.1", &stranger))
        .fails(3, &["ended the encrypted connection", "client certificate"]);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    check(&desk, &served.url("127.0.0.1", &own)).fails(3, &["may be read by others"]);
    let half = format!("sslmode=require&sslcert={certificate}");
    check(&desk, &served.url("127.0.0.1", &half)).fails(3, &["needs its key"]);
}

#[test]
fn a_server_that_cannot_encrypt_says_so() {
    let desk = Desk::new();
    let server = Server::shared();
    server.create_user("untls", SECRET, false);
    check(&desk, &format!("{}?sslmode=require", server.url("untls")))
        .fails(3, &["cannot encrypt", "ssl = on"]);
    let mut existing = Existing::start(&[]);
    existing.create_user("untls", "all");
    check(&desk, &format!("{}?ssl-mode=required", existing.url("untls")))
        .fails(3, &["cannot encrypt", "ssl_cert"]);
    check(&desk, &format!("{}?ssl-mode=perhaps", existing.url("untls")))
        .fails(2, &["'perhaps' is not a valid ssl-mode"]);
}

#[test]
fn mariadb_is_as_sure_of_the_server_as_the_url_asks() {
    let (certificates, desk) = (Certificates::new(), Desk::new());
    let (ca, stranger) = (certificates.text("ca"), certificates.text("stranger"));
    let start = |name: &str| {
        let (certificate, key) =
            (certificates.text(name), certificates.key(name).display().to_string());
        let mut existing =
            Existing::start(&[("ssl_cert", &certificate), ("ssl_key", &key), ("ssl_ca", &ca)]);
        existing.create_user("tls", "all");
        existing
    };
    let mut existing = start("server");
    let url = |parameters: &str| format!("{}?{parameters}", existing.url("tls"));
    let verify = |mode: &str, ca: &str| url(&format!("ssl-mode={mode}&ssl-ca={ca}"));
    for url in [
        url("ssl-mode=disabled"),
        url("ssl-mode=REQUIRED"),
        verify("verify_ca", &ca),
        verify("verify_identity", &ca),
    ] {
        check(&desk, &url).ok();
    }
    check(&desk, &verify("verify_ca", &stranger)).fails(3, &["nobody whom you trust signed"]);
    let of_another = verify("verify_identity", &ca).replace("127.0.0.1", "localhost");
    check(&desk, &of_another).fails(3, &["is not that of localhost"]);
    let own = format!(
        "ssl-cert={}&ssl-key={}",
        certificates.text("client"),
        certificates.key("client").display()
    );
    let with_own = url(&format!("ssl-mode=required&{own}"));
    let (without, plain) = (url("ssl-mode=required"), url("ssl-mode=disabled"));
    existing.admin.execute("alter user tls@'127.0.0.1' require x509").unwrap();
    check(&desk, &without).fails(3, &["tls"]);
    check(&desk, &with_own).ok();
    for sql in
        ["alter user tls@'127.0.0.1' require none", "set global require_secure_transport = on"]
    {
        existing.admin.execute(sql).unwrap();
    }
    check(&desk, &plain).fails(3, &["Access denied", "ssl-mode=required"]);
    let expired = start("expired");
    check(&desk, &format!("{}?ssl-mode=verify_ca&ssl-ca={ca}", expired.url("tls")))
        .fails(3, &["has expired"]);
}

#[test]
fn loading_and_both_drives_do_over_tls_what_they_do_without() {
    let desk = Desk::new();
    let served = Postgres::start();
    let certificates = Certificates::new();
    let (certificate, key) =
        (certificates.text("server"), certificates.key("server").display().to_string());
    let mut existing = Existing::start(&[("ssl_cert", &certificate), ("ssl_key", &key)]);
    existing.create_user("tls", "all");
    for url in [
        served.url("127.0.0.1", "sslmode=require"),
        format!("{}?ssl-mode=required", existing.url("tls")),
    ] {
        for drive in ["client", "database"] {
            let run =
                with_password(&desk, &format!("run {url} {LOAD} --drive {drive}")).ok().json();
            let test = &run["tests"][0];
            assert!(test["ops"].as_u64() > Some(0) && test["errors"] == 0, "{test}");
            assert_eq!(crate::support::mistakes(test), Vec::<&serde_json::Value>::new());
            let tls = run["disclosure"]["settings"]["tls"].as_str().unwrap();
            assert!(tls.starts_with("TLSv1."), "{tls}");
        }
        let line = format!(
            "run {url} --workload CONN-NEW:transport=tcp --workload CONN-NEW:transport=tls --size \
             0.01 --jobs 2 --ops 40 --format json --quiet"
        );
        let run = with_password(&desk, &line).ok().json();
        for test in run["tests"].as_array().unwrap() {
            assert_eq!(crate::support::mistakes(test), Vec::<&serde_json::Value>::new());
            let is_tls = test["params"]["transport"] == "tls";
            let handshake_ms = test["metrics"]["connect_encrypt_ms"].as_f64().unwrap();
            assert_eq!(handshake_ms > 0.0, is_tls, "{test:#}");
            assert_eq!(test["login"].as_str().unwrap().contains("TLSv1"), is_tls, "{test:#}");
        }
        with_password(&desk, &format!("clean {url}")).ok();
    }
}

/// A MySQL that knows its users by caching_sha2_password and has cached no password (MySQL,
/// "Caching SHA-2 Pluggable Authentication"). It stands for a server that we have not.
struct MySql {
    /// Private and public RSA key.
    keys: [PathBuf; 2],
    tls: Arc<ServerConfig>,
}

const NONCE: &[u8; 20] = b"12345678abcdefghijkl";
/// Capabilities of the server, including encryption (MySQL Internals, "Capability Flags").
const CAN: u32 = 0x010f_a205;
const CAN_ENCRYPT: u32 = 0x800;

/// Packets of the protocol, numbered on.
struct Packets<S>(S, u8);

impl<S: Read + Write> Packets<S> {
    fn send(&mut self, payload: &[u8]) {
        let head = [&(payload.len() as u32).to_le_bytes()[..3], &[self.1]].concat();
        // A client that has refused is gone.
        let _ = self.0.write_all(&[&head, payload].concat()).and_then(|()| self.0.flush());
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 4];
        self.0.read_exact(&mut head).ok()?;
        self.1 = head[3].wrapping_add(1);
        let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some(payload)
    }
}

impl MySql {
    fn new(certificates: &Certificates) -> MySql {
        let keys = ["rsa.key", "rsa.pub"].map(|name| certificates.0.path().join(name));
        let [key, public] = keys.each_ref().map(|path| path.to_str().unwrap());
        for arguments in [
            &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key][..],
            &["pkey", "-in", key, "-pubout", "-out", public],
        ] {
            assert!(
                Command::new("openssl")
                    .args(arguments)
                    .stderr(Stdio::null())
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let certificate =
            CertificateDer::from_pem_file(certificates.certificate("server")).unwrap();
        let key = PrivateKeyDer::from_pem_file(certificates.key("server")).unwrap();
        let builder =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        MySql { keys, tls: Arc::new(builder.with_single_cert(vec![certificate], key).unwrap()) }
    }

    /// Greets a client and lets it log in; the password that it has sent.
    fn serve(&self, stream: impl Read + Write, is_tcp: bool, can_encrypt: bool) -> Option<String> {
        let flags = (CAN | if can_encrypt { CAN_ENCRYPT } else { 0 }).to_le_bytes();
        let mut packets = Packets(stream, 0);
        let nonce = [&NONCE[8..], b"\0"].concat();
        let (low, high) = (&flags[..2], &flags[2..]);
        packets.send(
            &[
                b"\x0a8.0.35\0\x01\0\0\0",
                &NONCE[..8],
                b"\0",
                low,
                &[45, 2, 0],
                high,
                &[21],
                &[0; 10],
                &nonce,
                PLUGIN,
            ]
            .concat(),
        );
        let hello = packets.receive()?;
        let is_encrypted = u32::from_le_bytes(hello[..4].try_into().unwrap()) & CAN_ENCRYPT != 0;
        if !is_encrypted {
            return self.log_in(packets, !is_tcp);
        }
        let Packets(stream, number) = packets;
        let tls = StreamOwned::new(ServerConnection::new(Arc::clone(&self.tls)).unwrap(), stream);
        let mut packets = Packets(tls, number);
        packets.receive()?;
        self.log_in(packets, true)
    }

    fn log_in(&self, mut packets: Packets<impl Read + Write>, is_safe: bool) -> Option<String> {
        packets.send(&[b"\xfe", PLUGIN, NONCE, b"\0"].concat());
        let hash = |bytes: &[u8]| Sha256::digest(bytes).to_vec();
        let once = hash(SECRET.as_bytes());
        let scramble = hash(&[hash(&once), NONCE.to_vec()].concat());
        let expected: Vec<u8> =
            once.iter().zip(&scramble).map(|(one, other)| one ^ other).collect();
        assert_eq!(packets.receive()?, expected);
        packets.send(&[1, 4]);
        let mut sent = packets.receive()?;
        if sent == [2] {
            packets.send(&[&[1], &std::fs::read(&self.keys[1]).unwrap()[..]].concat());
            sent = packets.receive()?;
        }
        let clear = if is_safe { sent } else { self.decrypted(&sent) };
        packets.send(&[0, 0, 0, 2, 0, 0, 0]);
        Some(String::from_utf8(clear).unwrap().trim_end_matches('\0').to_string())
    }

    fn decrypted(&self, bytes: &[u8]) -> Vec<u8> {
        let mut openssl = Command::new("openssl");
        openssl
            .args(["pkeyutl", "-decrypt", "-pkeyopt", "rsa_padding_mode:oaep", "-inkey"])
            .arg(&self.keys[0]);
        let mut openssl = openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        openssl.stdin.take().unwrap().write_all(bytes).unwrap();
        let clear = openssl.wait_with_output().unwrap().stdout;
        clear.iter().zip(NONCE.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
    }
}

const PLUGIN: &[u8] = b"caching_sha2_password\0";

#[test]
fn a_password_for_caching_sha2_is_encrypted_or_not_sent() {
    let (certificates, desk) = (Certificates::new(), Desk::new());
    let mysql = MySql::new(&certificates);
    let key = format!("ssl-mode=disabled&server-public-key-path={}", mysql.keys[1].display());
    let verified = format!("ssl-mode=verify_ca&ssl-ca={}", certificates.text("ca"));
    for (parameters, can_encrypt, words) in [
        ("ssl-mode=disabled", true, ["not encrypted", "server-public-key-path"]),
        (
            "ssl-mode=disabled&get-server-public-key=1",
            true,
            ["is not MariaDB but MySQL 8.0.35", "mysql://"],
        ),
        (&key, false, ["is not MariaDB but MySQL 8.0.35", "mysql://"]),
        ("ssl-mode=required", true, ["nobody has verified", "ssl-mode=verify_identity"]),
        (
            "ssl-mode=required&enable-cleartext-plugin=1",
            true,
            ["is not MariaDB but MySQL 8.0.35", "mysql://"],
        ),
        (&verified, true, ["is not MariaDB but MySQL 8.0.35", "mysql://"]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "mariadb://me@127.0.0.1:{}?{parameters}",
            listener.local_addr().unwrap().port()
        );
        std::thread::scope(|scope| {
            let heard =
                scope.spawn(|| mysql.serve(listener.accept().unwrap().0, true, can_encrypt));
            check(&desk, &url).fails(3, &words);
            let is_told = !["not encrypted", "nobody has verified"].contains(&words[0]);
            let expected = is_told.then(|| SECRET.to_string());
            assert_eq!(heard.join().unwrap(), expected, "{parameters}");
        });
    }
    let socket = certificates.0.path().join("mysql.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::scope(|scope| {
        let heard = scope.spawn(|| mysql.serve(listener.accept().unwrap().0, false, true));
        check(&desk, &format!("mariadb://me@?socket={}", socket.display()))
            .fails(3, &["is not MariaDB but MySQL 8.0.35"]);
        assert_eq!(heard.join().unwrap().as_deref(), Some(SECRET));
    });
}
