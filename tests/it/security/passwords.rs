//! Passwords go to nobody else than the server for which they are meant.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::fake::Heard;
use super::{MALLORY, as_user, is_root, uid_of};
use crate::cli_existing::SECRET;
use crate::servers::Existing;
use crate::support::{Desk, Done, finished};

/// The program with the password and more in its environment.
fn check(desk: &Desk, url: &str, more: &[(&str, &str)]) -> Done {
    let line = format!("clean {url}");
    let mut command = desk.command(&line);
    command.env("PGPASSWORD", SECRET).env("MYSQL_PWD", SECRET).envs(more.iter().copied());
    finished(command, &line)
}

#[test]
fn a_password_in_clear_text_goes_to_a_verified_server_or_whom_the_user_wants() {
    let desk = Desk::new();
    let (heard, port, certificate) = Heard::with_tls(&desk.path(""));
    let url = |parameters: &str| format!("postgres://me@127.0.0.1:{port}/shop?{parameters}");
    let verified = url(&format!("sslmode=verify-full&sslrootcert={}", certificate.display()));
    for parameters in ["", "sslmode=require"] {
        check(&desk, &url(parameters), &[])
            .fails(3, &["clear text", "nobody has verified", "sslmode=verify-full"]);
        assert_eq!(heard.passwords(), Vec::<String>::new(), "{parameters}");
    }
    for (name, value, word) in [
        ("PGCHANNELBINDING", "require", "channel_binding=require"),
        ("PGREQUIREAUTH", "scram-sha-256", "require_auth"),
        ("PGREQUIREAUTH", "!password", "require_auth"),
    ] {
        check(&desk, &verified, &[(name, value)]).fails(3, &[word]);
        assert_eq!(heard.passwords(), Vec::<String>::new(), "{name}={value}");
    }
    check(&desk, &verified, &[("PGSSLCRL", "/crl")]).fails(2, &["PGSSLCRL"]);
    for wanted in [verified, url("sslmode=require&require_auth=password")] {
        assert_eq!(check(&desk, &wanted, &[]).code, Some(3), "it knows nobody");
        assert_eq!(heard.passwords(), [SECRET], "{wanted}");
    }
}

#[test]
fn a_password_goes_to_a_socket_of_whom_the_place_vouches_for_only() {
    if !is_root("a socket that another user made in a directory like /tmp") {
        return;
    }
    let desk = Desk::new();
    let place = desk.path("sockets");
    std::fs::create_dir(&place).unwrap();
    std::fs::set_permissions(&place, PermissionsExt::from_mode(0o1777)).unwrap();
    let bind = |path: &Path| as_user(uid_of(MALLORY), || UnixListener::bind(path).unwrap());
    let heard = Heard::at(bind(&place.join(".s.PGSQL.5432")));
    let url = |more: &str| format!("postgres://app@/shop?host={}{more}", place.display());
    check(&desk, &url(""), &[]).fails(3, &[MALLORY, "no password is sent", "requirepeer=USER"]);
    check(&desk, &url("&requirepeer=root"), &[]).fails(3, &[MALLORY, "not 'root'"]);
    check(&desk, &url(""), &[("PGREQUIREPEER", "root")]).fails(3, &[MALLORY, "not 'root'"]);
    assert_eq!(heard.passwords(), Vec::<String>::new());
    assert_eq!(check(&desk, &url(&format!("&requirepeer={MALLORY}")), &[]).code, Some(3));
    assert_eq!(heard.passwords(), [SECRET]);
    let _listens = bind(&place.join("my.sock"));
    let mariadb = format!("mariadb://app@/?socket={}", place.join("my.sock").display());
    check(&desk, &mariadb, &[]).fails(3, &[MALLORY, "no password is sent"]);
}

#[test]
fn what_the_option_file_asks_of_the_connection_holds_whoever_may_read_it() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    server.create_user("asks", "all");
    let options = desk.path(".my.cnf");
    for mode in [0o600, 0o644] {
        std::fs::write(&options, "[client]\nssl-mode = REQUIRED\n").unwrap();
        std::fs::set_permissions(&options, PermissionsExt::from_mode(mode)).unwrap();
        check(&desk, &server.url("asks"), &[]).fails(3, &["cannot encrypt"]);
    }
    std::fs::write(&options, "[client]\nssl-crl = /crl\n").unwrap();
    check(&desk, &server.url("asks"), &[]).fails(2, &["ssl-crl", "cannot be heeded"]);
    check(&desk, &format!("{}?ssl-mode=preferred", server.url("asks")), &[]).ok();
}
