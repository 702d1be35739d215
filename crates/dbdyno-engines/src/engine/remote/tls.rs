//! Encrypted connections: rustls with the ring provider, and what must be true of the server's
//! certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::{Stream, check_private_key};
use crate::engine::{EngineError, ErrorClass};

/// Stands for the certificates that the operating system trusts.
const SYSTEM: &str = "system";

/// Requirements on the connection; each mode asks for all that those before it do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum TlsMode {
    /// Not encrypted.
    Disable,
    /// Encrypted if the server can.
    #[default]
    Prefer,
    /// Encrypted, without verification of the server.
    Require,
    /// Encrypted, with a certificate of a trusted issuer.
    VerifyCa,
    /// And is that of the host that was asked for.
    VerifyFull,
}

/// TLS settings for a server on a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::engine) struct Tls {
    pub mode: TlsMode,
    /// File with the certificates that are trusted, or `system`.
    pub roots: Option<PathBuf>,
    /// Files with our own certificate and its key.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Name of the protocol within, for servers that want it (ALPN).
    pub protocol: Option<&'static str>,
}

/// True if the certificates that the operating system trusts are asked for.
pub(in crate::engine) fn is_system(roots: Option<&Path>) -> bool {
    roots == Some(Path::new(SYSTEM))
}

impl Tls {
    /// Refuses `system` without the check of the host's name: every host can have a certificate of
    /// a public authority, so that it alone proves nothing (libpq 16 and newer do the same).
    ///
    /// # Errors
    /// Names both parameters, `roots` and `mode` with the value that is needed.
    pub(in crate::engine) fn check_roots(
        &self,
        roots: &str,
        mode: &str,
    ) -> Result<(), EngineError> {
        if self.mode < TlsMode::VerifyFull && is_system(self.roots.as_deref()) {
            let what = format!("{roots}={SYSTEM} needs {mode}: any host has a public certificate");
            return Err(EngineError::new(ErrorClass::Usage, what)
                .advised(format!("use {mode}, or leave it out")));
        }
        Ok(())
    }

    /// The stream, encrypted; `host` is the name that the certificate must have.
    ///
    /// # Errors
    /// Files that cannot be used; a server or certificate that is refused, with what to do.
    pub(in crate::engine) fn encrypt(
        &self,
        stream: Stream,
        host: &str,
    ) -> Result<Stream, EngineError> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| {
            denied_error(format!("{host} is not a name that a certificate can have"))
        })?;
        stream
            .encrypt(Arc::new(self.config()?), name)
            .map_err(|error| handshake_error(&error, host))
    }

    fn config(&self) -> Result<ClientConfig, EngineError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier {
            mode: self.mode,
            roots: self.trusted_roots()?,
            provider: Arc::clone(&provider),
        };
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder =
            builder.map_err(|error| denied_error(format!("TLS cannot be used ({error})")))?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                check_private_key(key)
                    .map_err(|why| denied_error(why).advised("chmod 600 it, and make a new one"))?;
                let key =
                    PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
                let made = builder.with_client_auth_cert(certificates(certificate)?, key);
                made.map_err(|error| {
                    denied_error(format!("the client certificate cannot be used ({error})"))
                })?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => {
                return Err(denied_error(
                    "a client certificate needs its key, and a key its certificate",
                ));
            }
        };
        config.alpn_protocols = self.protocol.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(config)
    }

    /// Trusted issuers; none if nothing is verified.
    fn trusted_roots(&self) -> Result<RootCertStore, EngineError> {
        let mut roots = RootCertStore::empty();
        let found = match self.roots.as_deref() {
            _ if self.mode < TlsMode::VerifyCa => return Ok(roots),
            Some(path) if path == Path::new(SYSTEM) => {
                rustls_native_certs::load_native_certs().certs
            }
            Some(path) => certificates(path)?,
            None => {
                return Err(denied_error(
                    "a certificate can only be verified against those that you trust",
                )
                .advised("name their file in the URL, or 'system'"));
            }
        };
        roots.add_parsable_certificates(found);
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let found =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    found.map_err(|error| unusable(path, &error)).and_then(|found| match found.is_empty() {
        true => Err(denied_error(format!("{} holds no certificate", path.display()))),
        false => Ok(found),
    })
}

fn unusable(path: &Path, error: &rustls::pki_types::pem::Error) -> EngineError {
    denied_error(format!("{} cannot be used ({error})", path.display())).advised("give a PEM file")
}

fn denied_error(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Denied, message)
}

/// Error for a failed encrypted connection, with advice.
fn handshake_error(error: &std::io::Error, host: &str) -> EngineError {
    use CertificateError as Bad;
    if let Some(error) = alert(error) {
        return error;
    }
    let (why, advice) = match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. })) => {
            ("the certificate of the server has expired".to_string(), "renew it, or verify less")
        }
        Some(Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. })) => (
            "the certificate of the server is not valid yet".to_string(),
            "check the clocks, or verify less",
        ),
        Some(Error::InvalidCertificate(
            Bad::NotValidForName | Bad::NotValidForNameContext { .. },
        )) => (
            format!("the certificate of the server is not that of {host}"),
            "use the host's name in the certificate",
        ),
        Some(Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature)) => (
            "nobody whom you trust signed the certificate of the server".to_string(),
            "name its issuer's certificate",
        ),
        Some(error) => (
            format!("no encrypted connection came about ({error})"),
            "check the server's TLS settings",
        ),
        None => {
            let message = format!("the connection broke while it was being encrypted ({error})");
            return EngineError::new(ErrorClass::Unreachable, message)
                .advised("check the server's TLS settings");
        }
    };
    denied_error(why).advised(advice)
}

/// Reason that the other side gives for ending an encrypted connection; it may say so after the
/// handshake.
pub(super) fn alert(error: &std::io::Error) -> Option<EngineError> {
    match error.get_ref()?.downcast_ref::<Error>()? {
        Error::AlertReceived(alert) => Some(
            denied_error(format!("the server ended the encrypted connection ({alert:?})"))
                .advised("does it want a client certificate, or another one?"),
        ),
        _ => None,
    }
}

/// Asks of a certificate what the mode asks for.
#[derive(Debug)]
struct Verifier {
    mode: TlsMode,
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.mode >= TlsMode::VerifyCa {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            let chain = verify_server_cert_signed_by_trust_anchor(
                &parsed,
                &self.roots,
                intermediates,
                now,
                algorithms,
            );
            chain.or_else(|error| {
                self.is_itself_trusted(end_entity, &error).then_some(()).ok_or(error)
            })?;
            if self.mode == TlsMode::VerifyFull {
                verify_server_name(&parsed, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Verifier {
    /// True of a certificate that signed itself and is among those that are trusted. `openssl req
    /// -x509` makes such, which may sign others, too; that is the last thing that is looked at, its
    /// time is over or not before.
    fn is_itself_trusted(&self, certificate: &CertificateDer<'_>, error: &Error) -> bool {
        let may_sign = format!("{error:?}").contains("CaUsedAsEndEntity");
        let mut alone = RootCertStore::empty();
        may_sign
            && alone.add(certificate.clone().into_owned()).is_ok()
            && self.roots.roots.contains(&alone.roots[0])
    }
}

/// The hash of a server's certificate to which a login is bound (`tls-server-end-point`, RFC 5929):
/// by the hash of its signature, SHA-256 instead of MD5 and SHA-1. None for signatures without one
/// (Ed25519).
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (_, inside, _) = tlv(certificate)?;
    let (_, _, after_body) = tlv(inside)?;
    let (_, algorithm, _) = tlv(after_body)?;
    let (_, id, _) = tlv(algorithm)?;
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4];
    Some(match (id.strip_prefix(RSA), id.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Sha256::digest(certificate).to_vec(),
        (Some([12]), _) | (_, Some([3, 3])) => Sha384::digest(certificate).to_vec(),
        (Some([13]), _) | (_, Some([3, 4])) => Sha512::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// The first element of DER: tag, content, what follows.
fn tlv(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short @ 0..=0x7f => (usize::from(short), rest),
        long @ 0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
