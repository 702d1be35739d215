//! The user's option file, ~/.my.cnf: what `[client]` says about user, password and server (MariaDB
//! manual, "Configuring MariaDB with Option Files").

use std::fs;
use std::os::unix::fs::MetadataExt;

use secrecy::{ExposeSecret, SecretString};

use crate::engine::EngineError;
use crate::engine::remote::{TlsMode, in_home, private_text};

/// Groups that MariaDB's own client reads too; a later line wins.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "mariadb-client"];

/// TLS options of a file that dbdyno does not support.
const UNHEEDED: [&str; 4] = ["ssl-crl", "ssl-crlpath", "ssl-fp", "ssl-fplist"];

/// Settings of the option file.
#[derive(Default, Clone)]
pub(super) struct ClientOptions {
    pub user: Option<String>,
    pub host: Option<String>,
    pub port: Option<String>,
    pub socket: Option<String>,
    pub password: Option<SecretString>,
    pub ssl_ca: Option<String>,
    pub ssl_cert: Option<String>,
    pub ssl_key: Option<String>,
    /// TLS settings: a mode by name, encryption or none, a verified server.
    ssl_mode: Option<String>,
    ssl: Option<bool>,
    verify: bool,
    /// True if the password may be sent to a server that encrypts and is not verified.
    pub clear_text: bool,
    /// TLS option that dbdyno does not support.
    pub unheeded: Option<&'static str>,
    /// Reason why an existing file was not used.
    pub trouble: Option<String>,
}

impl ClientOptions {
    /// Reads ~/.my.cnf, if it is there and nobody else may read it.
    pub(super) fn of_user() -> Self {
        match private_text(&in_home(".my.cnf")) {
            Ok(text) => {
                text.map(|text| ClientOptions::parse(text.expose_secret())).unwrap_or_default()
            }
            // What it asks of the connection holds all the same; what others may have written is
            // not believed.
            Err(trouble) => ClientOptions {
                trouble: Some(trouble),
                password: None,
                clear_text: false,
                ..ClientOptions::open_to_others().unwrap_or_default()
            },
        }
    }

    /// Settings of ~/.my.cnf where others may read but not write it.
    fn open_to_others() -> Option<Self> {
        let path = in_home(".my.cnf");
        let metadata = fs::metadata(&path).ok()?;
        let is_safe = metadata.is_file() && metadata.mode() & 0o022 == 0;
        is_safe.then(|| fs::read_to_string(&path).ok())?.map(|text| ClientOptions::parse(&text))
    }

    /// Reads the text of an option file.
    pub(super) fn parse(text: &str) -> Self {
        let mut options = ClientOptions::default();
        let mut applies = false;
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '!'])) {
            if let Some(group) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
                applies = GROUPS.contains(&group.trim());
            } else if applies {
                match line.split_once('=') {
                    Some((name, value)) => options.set(name.trim(), Some(value.trim())),
                    None => options.set(line, None),
                }
            }
        }
        options
    }

    /// The password of the file, or why the file was not used.
    pub(super) fn file_password(&self) -> Result<Option<SecretString>, String> {
        self.trouble.clone().map_or_else(|| Ok(self.password.clone()), Err)
    }

    /// TLS mode that the file asks for, by `named` of a mode's name.
    ///
    /// # Errors
    /// Those of `named`.
    pub(super) fn tls_mode(
        &self,
        named: impl Fn(&str) -> Result<TlsMode, EngineError>,
    ) -> Result<Option<TlsMode>, EngineError> {
        let mode = self.ssl_mode.as_deref().map(named).transpose()?;
        let switched = self.ssl.map(|on| if on { TlsMode::Require } else { TlsMode::Disable });
        let verified = self.verify.then_some(TlsMode::VerifyFull);
        Ok([mode, switched, verified].into_iter().flatten().max())
    }

    /// Takes a line; an option that is switched on has no value.
    fn set(&mut self, name: &str, value: Option<&str>) {
        let value = value.map(strip_quotes);
        let name = name.replace('_', "-");
        let name = name.strip_prefix("loose-").unwrap_or(&name);
        let is_on = || value.as_deref().is_none_or(is_on);
        match name {
            "ssl-verify-server-cert" => self.verify = is_on(),
            "ssl" => self.ssl = Some(is_on()),
            "skip-ssl" | "disable-ssl" => self.ssl = Some(!is_on()),
            "enable-cleartext-plugin" => self.clear_text = is_on(),
            // The oldest version that we speak.
            "tls-version" if value.as_ref().is_none_or(|value| !value.contains("TLSv1.2")) => {
                self.unheeded = Some("tls-version");
            }
            "ssl-mode" => self.ssl_mode = value,
            "user" => self.user = value,
            "host" => self.host = value,
            "port" => self.port = value,
            "socket" => self.socket = value,
            "ssl-ca" => self.ssl_ca = value,
            "ssl-cert" => self.ssl_cert = value,
            "ssl-key" => self.ssl_key = value,
            "password" => self.password = value.map(SecretString::from),
            other => {
                self.unheeded = UNHEEDED.into_iter().find(|name| *name == other).or(self.unheeded);
            }
        }
    }
}

/// True of what switches an option on.
pub(super) fn is_on(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "0" | "off" | "false" | "no")
}

/// A value without the quotes around it, or without the comment after it.
fn strip_quotes(value: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote))
        {
            return inner.to_owned();
        }
    }
    value.split(" #").next().unwrap_or(value).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_clients_groups_count_and_quotes_go() {
        let text = "[mysqld]\nuser=mysql\n[client]\n# user=no\nuser = ann # me\npassword = \"pa#ss \
                    'x'\"\n[other]\nhost=no\n";
        let options = ClientOptions::parse(text);
        assert_eq!(options.user.as_deref(), Some("ann"));
        assert_eq!(options.password.as_ref().map(ExposeSecret::expose_secret), Some("pa#ss 'x'"));
        assert_eq!(options.host, None);
    }
}
