//! A PostgreSQL server that is none: it asks whoever comes for the password in clear text, and
//! keeps what it is told.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Request for encryption (PostgreSQL manual, "SSLRequest").
const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

/// Data that a fake server received.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    /// The passwords that it was told since the last look.
    pub fn passwords(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Listens on a Unix socket; it ends with the process of the tests.
    pub fn at(listener: UnixListener) -> Heard {
        let heard = Heard::default();
        let keep = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = keep.talk(stream.unwrap(), None); // whoever refuses hangs up
            }
        });
        heard
    }

    /// Listens on a port, encrypted by a certificate of its own, which lies in a directory.
    pub fn with_tls(dir: &Path) -> (Heard, u16, PathBuf) {
        let (tls, certificate) = own_certificate(dir);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Heard::default();
        let keep = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = keep.talk(stream.unwrap(), Some(&tls)); // whoever refuses hangs up
            }
        });
        (heard, port, certificate)
    }

    fn talk(
        &self,
        mut stream: impl Read + Write,
        tls: Option<&Arc<ServerConfig>>,
    ) -> std::io::Result<()> {
        let first = startup(&mut stream)?;
        let Some(tls) = tls.filter(|_| first == SSL_REQUEST) else {
            return self.ask(stream);
        };
        stream.write_all(b"S")?;
        let tls = ServerConnection::new(Arc::clone(tls)).unwrap();
        let mut stream = StreamOwned::new(tls, stream);
        startup(&mut stream)?;
        self.ask(stream)
    }

    /// Asks for the password, and refuses it.
    fn ask(&self, mut stream: impl Read + Write) -> std::io::Result<()> {
        stream.write_all(b"R\0\0\0\x08\0\0\0\x03")?;
        stream.flush()?;
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let mut text = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        stream.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
        self.0.lock().unwrap().push(text);
        stream.write_all(b"E\0\0\0\x19SFATAL\0C28P01\0Mno\0\0\0")?;
        stream.flush()
    }
}

/// First message of a client, without its length.
fn startup(stream: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut rest)?;
    Ok(rest)
}

/// A certificate of 127.0.0.1 that signed itself, and its file.
fn own_certificate(dir: &Path) -> (Arc<ServerConfig>, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let path = dir.join("fake.crt");
    std::fs::write(&path, certificate.pem()).unwrap();
    let builder =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
    (Arc::new(config), path)
}
