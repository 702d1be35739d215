//! The user's option file, ~/.my.cnf: what `[client]` says about user, password and server (MariaDB
//! manual, "Configuring MariaDB with Option Files").

use secrecy::{ExposeSecret, SecretString};

use crate::engine::remote::{in_home, private_text};

/// Groups that MariaDB's own client reads too; a later line wins.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "mariadb-client"];

/// What the option file says.
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
    /// Why the file was not used, if it is there.
    pub trouble: Option<String>,
}

impl ClientOptions {
    /// Reads ~/.my.cnf, if it is there and nobody else may read it.
    pub(super) fn of_user() -> Self {
        match in_home(".my.cnf").map_or(Ok(None), |path| private_text(&path)) {
            Ok(text) => {
                text.map(|text| ClientOptions::parse(text.expose_secret())).unwrap_or_default()
            }
            Err(trouble) => ClientOptions { trouble: Some(trouble), ..ClientOptions::default() },
        }
    }

    /// Reads the text of an option file.
    pub(super) fn parse(text: &str) -> Self {
        let mut options = ClientOptions::default();
        let mut applies = false;
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '!'])) {
            if let Some(group) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
                applies = GROUPS.contains(&group.trim());
            } else if let Some((name, value)) = line.split_once('=').filter(|_| applies) {
                options.set(name.trim(), value.trim());
            }
        }
        options
    }

    /// The password of the file, or why the file was not used.
    pub(super) fn filed(&self) -> Result<Option<SecretString>, String> {
        self.trouble.clone().map_or_else(|| Ok(self.password.clone()), Err)
    }

    fn set(&mut self, name: &str, value: &str) {
        let value = Some(unquoted(value));
        match name {
            "user" => self.user = value,
            "host" => self.host = value,
            "port" => self.port = value,
            "socket" => self.socket = value,
            "ssl-ca" | "ssl_ca" => self.ssl_ca = value,
            "ssl-cert" | "ssl_cert" => self.ssl_cert = value,
            "ssl-key" | "ssl_key" => self.ssl_key = value,
            "password" => self.password = value.map(SecretString::from),
            _ => {}
        }
    }
}

/// A value without the quotes around it, or without the comment after it.
fn unquoted(value: &str) -> String {
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
        let text = "[mysqld]\nuser=mysql\n[client]\n# user=no\nuser = ann # me\npassword = \"pa#ss 'x'\"\n[other]\nhost=no\n";
        let options = ClientOptions::parse(text);
        assert_eq!(options.user.as_deref(), Some("ann"));
        assert_eq!(options.password.as_ref().map(ExposeSecret::expose_secret), Some("pa#ss 'x'"));
        assert_eq!(options.host, None);
    }
}
