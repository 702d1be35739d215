//! Other users of the host: directories, links, libraries and files that they made.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno::store::Store;

use super::{MALLORY, as_user, can, is_root, uid_of};
use crate::servers::Lease;
use crate::support::{Desk, TINY, finished};

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn give_to_mallory(path: &Path) {
    chown(path, Some(uid_of(MALLORY)), None).unwrap();
}

#[test]
fn a_private_server_is_in_no_directory_that_others_can_change() {
    let desk = Desk::new();
    let place = desk.path("place");
    std::fs::create_dir(&place).unwrap();
    let line = format!("run postgres {TINY} --quiet --data-dir {}", place.join("data").display());
    set_mode(&place, 0o777);
    desk.run(&line).fails(3, &["can be written to by everybody", "--data-dir"]);
    assert!(!place.join("data").exists(), "nothing was made there");
    if !is_root("a directory of another user") {
        return;
    }
    set_mode(&place, 0o755);
    give_to_mallory(&place);
    desk.run(&line).fails(3, &["belongs to user nobody", "--data-dir"]);
    assert!(!place.join("data").exists(), "nothing was made there");
}

/// A directory that is open to everybody, and a file of root's that others must not have written.
struct OpenPlace {
    place: PathBuf,
    victim: PathBuf,
}

impl OpenPlace {
    fn in_desk(desk: &Desk) -> OpenPlace {
        let (place, victim) = (desk.path("open"), desk.path("victim"));
        std::fs::create_dir(&place).unwrap();
        set_mode(&place, 0o1777);
        std::fs::write(&victim, "of root").unwrap();
        OpenPlace { place, victim }
    }
}

#[test]
fn output_goes_through_no_link_of_others_in_a_directory_open_to_everybody() {
    if !is_root("a link of another user") {
        return;
    }
    let desk = Desk::with_run();
    let OpenPlace { place, victim } = OpenPlace::in_desk(&desk);
    let link = place.join("report.html");
    as_user(uid_of(MALLORY), || symlink(&victim, &link).unwrap());
    desk.run(&format!("report kpm -o {}", link.display())).fails(2, &["link", "somebody else"]);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "of root");
    // One's own is followed, as it always was.
    let own = place.join("own.html");
    symlink(&victim, &own).unwrap();
    desk.run(&format!("report kpm -o {}", own.display())).ok();
    assert!(std::fs::read_to_string(&victim).unwrap().contains("<html"));
}

#[test]
fn an_embedded_database_takes_no_file_of_others_for_its_own() {
    if !is_root("a file and a link of another user") {
        return;
    }
    let desk = Desk::new();
    let OpenPlace { place, victim } = OpenPlace::in_desk(&desk);
    let line = format!("run sqlite {TINY} --quiet --data-dir {}", place.display());
    for name in ["dbdyno-sqlite.lock", "dbdyno-sqlite.db", "dbdyno-sqlite.db-journal"] {
        let theirs = place.join(name);
        as_user(uid_of(MALLORY), || symlink(&victim, &theirs).unwrap());
        desk.run(&line).fails(3, &[name, "somebody else made it", "--data-dir"]);
        std::fs::remove_file(&theirs).unwrap();
        as_user(uid_of(MALLORY), || std::fs::write(&theirs, "passing").unwrap());
        desk.run(&line).fails(3, &[name, "somebody else made it", "--data-dir"]);
        std::fs::remove_file(&theirs).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "of root");
    desk.run(&line).ok();
}

#[test]
fn scripts_go_through_no_link_of_others() {
    if !is_root("a link of another user") {
        return;
    }
    let desk = Desk::new();
    let (place, victim) = (desk.path("open"), desk.path("victim"));
    for directory in [&place, &victim] {
        std::fs::create_dir(directory).unwrap();
    }
    set_mode(&place, 0o1777);
    let link = place.join("scripts");
    as_user(uid_of(MALLORY), || symlink(&victim, &link).unwrap());
    let export = |place: &Path| {
        desk.run(&format!("export-sql postgres --workload SRV-QUERY1 -o {}", place.display()))
    };
    export(&link).fails(2, &["link", "somebody else"]);
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0, "nothing was written there");
    export(&place.join("own")).ok();
}

/// A file that is there already under the name of the results: who made it could read them.
#[test]
fn results_go_into_no_file_that_others_have_put_there() {
    if !is_root("a file of another user") {
        return;
    }
    let desk = Desk::new();
    let (place, own) = (desk.path("open"), desk.path("own.db"));
    std::fs::create_dir(&place).unwrap();
    set_mode(&place, 0o1777);
    drop(Store::open(&own).unwrap());
    let (planted, link) = (place.join("planted.db"), place.join("link.db"));
    as_user(uid_of(MALLORY), || {
        drop(Store::open(&planted).unwrap());
        symlink(&own, &link).unwrap();
    });
    let before = std::fs::read(&planted).unwrap();
    for file in [&planted, &link] {
        for line in [&format!("run sqlite {TINY} --quiet"), "results delete 1"] {
            desk.run(&format!("{line} --results {}", file.display()))
                .fails(2, &["somebody else made it", "--results"]);
        }
        // To look at it does no harm, and changes nothing.
        desk.run(&format!("results list --results {}", file.display())).ok();
    }
    assert_eq!(std::fs::read(&planted).unwrap(), before);
    let mine = place.join("mine.db");
    desk.run(&format!("run sqlite {TINY} --quiet --results {}", mine.display())).ok();
    desk.run(&format!("results list --results {}", mine.display())).ok();
}

/// A monitor's recording goes where results go, so neither into a file of others nor by a link.
#[test]
fn a_recording_goes_into_no_file_that_others_have_put_there() {
    if !is_root("a file of another user") {
        return;
    }
    let desk = Desk::new();
    let (place, own) = (desk.path("open"), desk.path("own.db"));
    std::fs::create_dir(&place).unwrap();
    set_mode(&place, 0o1777);
    drop(Store::open(&own).unwrap());
    let (planted, link) = (place.join("planted.db"), place.join("link.db"));
    as_user(uid_of(MALLORY), || {
        drop(Store::open(&planted).unwrap());
        symlink(&own, &link).unwrap();
    });
    let before = [&planted, &own].map(|file| std::fs::read(file).unwrap());
    let lease = Lease::new("postgres", None, &[]);
    let line = |file: &Path| {
        format!("monitor {} --once --interval 100ms --record {}", lease.url, file.display())
    };
    for file in [&planted, &link] {
        desk.run(&line(file)).fails(2, &["somebody else made it", "--record"]);
    }
    assert_eq!([&planted, &own].map(|file| std::fs::read(file).unwrap()), before);
    desk.run(&line(&place.join("mine.db"))).ok();
}

/// A page that is printed may not be for others: the browser itself looks for what another user
/// can read of it, while it works.
#[test]
fn others_do_not_read_a_page_while_it_is_printed() {
    if !is_root("another user who looks") {
        return;
    }
    let desk = Desk::with_run();
    let (programs, seen, own) = (desk.path("programs"), desk.path("seen"), desk.path("own"));
    std::fs::create_dir(&programs).unwrap();
    let browser = programs.join("chromium");
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do\ncase $word in --print-to-pdf=*) pdf=${{word#*=}};; \
         file://*) page=${{word#file://}};; esac\ndone\nsetpriv --reuid {MALLORY} --regid nogroup \
         --clear-groups cat \"$page\" > {}\ncat \"$page\" > {}\nprintf %%PDF-1 > \"$pdf\"\n",
        seen.display(),
        own.display()
    );
    std::fs::write(&browser, script).unwrap();
    set_mode(&browser, 0o755);
    let pdf = desk.path("kpm.pdf");
    let line = format!("report kpm --format pdf -o {}", pdf.display());
    let mut command = desk.command(&line);
    command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    finished(command, &line).ok();
    assert!(std::fs::read_to_string(&own).unwrap().contains("<html"), "the page was there");
    assert!(std::fs::read(&seen).unwrap().is_empty(), "another user read it");
}

/// A library that leaves a trace when it is loaded.
pub(super) fn trap(desk: &Desk, library: &Path) -> std::path::PathBuf {
    let trace = desk.path("trace");
    let source = desk.path("trap.c");
    let text = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void go(void) \
         {{ open(\"{}\", O_CREAT | O_WRONLY, 0600); }}\n",
        trace.display()
    );
    std::fs::write(&source, text).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(library).arg(&source).status();
    assert!(built.unwrap().success());
    trace
}

#[test]
fn no_library_is_loaded_that_others_can_have_made() {
    let desk = Desk::new();
    let cache = desk.path("cache");
    let place = cache.join("dbdyno/duckdb-1.99.9/bin");
    std::fs::create_dir_all(&place).unwrap();
    let trace = trap(&desk, &place.join("libduckdb.so"));
    let check = || {
        let mut command = desk.command("check duckdb");
        command.env("XDG_CACHE_HOME", &cache);
        finished(command, "check duckdb");
    };
    set_mode(&cache, 0o777);
    check();
    assert!(!trace.exists(), "everybody may have put it there");
    set_mode(&cache, 0o755);
    if is_root("a cache of another user") {
        give_to_mallory(&cache);
        check();
        assert!(!trace.exists(), "somebody else may have put it there");
        chown(&cache, Some(0), None).unwrap();
    }
    check();
    assert!(trace.exists(), "one's own is loaded: the test can fail");
}

/// To ask a server's program for its version is to run it.
#[test]
fn no_program_of_a_server_is_run_that_others_can_have_made() {
    let desk = Desk::new();
    let (cache, trace) = (desk.path("cache"), desk.path("trace"));
    let place = cache.join("dbdyno/postgres-18.99.0/bin");
    std::fs::create_dir_all(&place).unwrap();
    for name in ["postgres", "initdb", "pg_ctl", "psql"] {
        let program = place.join(name);
        let script =
            format!("#!/bin/sh\n: > {}\necho 'postgres (PostgreSQL) 18.99'\n", trace.display());
        std::fs::write(&program, script).unwrap();
        set_mode(&program, 0o755);
    }
    let line = "binaries fetch postgres --version 18.99.0";
    let fetch = || {
        let mut command = desk.command(line);
        command.env("XDG_CACHE_HOME", &cache);
        finished(command, line)
    };
    set_mode(&cache, 0o777);
    fetch().fails(3, &["can be written to by everybody", "XDG_CACHE_HOME"]);
    assert!(!trace.exists(), "everybody may have put it there");
    set_mode(&cache, 0o755);
    if is_root("a cache of another user") {
        give_to_mallory(&cache);
        fetch().fails(3, &["belongs to user nobody", "XDG_CACHE_HOME"]);
        assert!(!trace.exists(), "somebody else may have put it there");
        chown(&cache, Some(0), None).unwrap();
    }
    fetch().ok();
    assert!(trace.exists(), "one's own is run: the test can fail");
}

#[test]
fn without_a_home_nothing_is_looked_for_in_temporary_files() {
    let desk = Desk::new();
    let mut command = desk.command("check sqlite");
    command.env_remove("HOME").env_remove("DBDYNO_HOME").env_remove("XDG_CACHE_HOME");
    let said = finished(command, "check sqlite");
    let temporary = std::env::temp_dir().join("dbdyno");
    assert!(!said.stdout.contains(&*temporary.to_string_lossy()), "{said:?}");
}

#[test]
fn a_results_file_with_more_than_our_tables_is_refused() {
    let desk = Desk::new();
    let file = desk.path("results.db");
    let endless = "with recursive r(n) as (select 1 union all select n + 1 from r) select n from r";
    for object in [
        format!("create view more as {endless}"),
        "create trigger more after insert on run begin delete from test; end".into(),
        "create table more (a, b generated always as (zeroblob(1000000000)))".into(),
        "create virtual table more using fts5(a)".into(),
    ] {
        drop(Store::open(&file).unwrap());
        rusqlite::Connection::open(&file).unwrap().execute_batch(&object).unwrap();
        let refused = desk.run("results list").fails(2, &["more", "which dbdyno does not make"]);
        assert!(refused.stdout.is_empty(), "{object}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_token_that_others_may_read_is_none_and_metrics_want_one_too() {
    let desk = Desk::new();
    let file = desk.path("token");
    std::fs::write(&file, "a token that nobody guesses").unwrap();
    set_mode(&file, 0o644);
    drop(Store::open(&desk.path("results.db")).unwrap());
    desk.run(&format!("serve --listen 0.0.0.0:8433 --token-file {}", file.display()))
        .fails(2, &["may be read by others", "chmod 600"]);
    desk.run(&format!("run sqlite {TINY} --quiet --metrics 0.0.0.0:9187"))
        .fails(2, &["--metrics", "DBDYNO_TOKEN"]);
}

/// A directory that looks like a site of ours, with names of files to remove behind a link.
#[test]
fn a_site_that_others_have_laid_out_removes_nothing_of_ours() {
    if !is_root("a directory of another user") {
        return;
    }
    let desk = Desk::new();
    drop(Store::open(&desk.path("results.db")).unwrap());
    let (site, victim) = (desk.path("site"), desk.path("victim"));
    desk.run(&format!("site {}", site.display())).ok();
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("precious"), "of root").unwrap();
    let mark = site.join(".dbdyno-site");
    let head = std::fs::read_to_string(&mark).unwrap().lines().next().unwrap().to_string();
    std::fs::write(&mark, format!("{head}\nway/precious\n")).unwrap();
    symlink(&victim, site.join("way")).unwrap();
    for path in [&site, &mark] {
        give_to_mallory(path);
    }
    desk.run(&format!("site {}", site.display())).fails(2, &["belongs to user nobody"]);
    // Also where the names are our own, no link is followed to what goes.
    for path in [&site, &mark] {
        chown(path, Some(0), None).unwrap();
    }
    desk.run(&format!("site {}", site.display())).fails(2, &["way", "is a link"]);
    assert_eq!(std::fs::read_to_string(victim.join("precious")).unwrap(), "of root");
}

/// Whoever is root by a user namespace only has no other user to run a server as.
#[test]
fn root_of_a_user_namespace_is_told_what_it_lacks() {
    let tried = Command::new("unshare").args(["--user", "--map-root-user", "true"]).status();
    if !can(
        tried.is_ok_and(|status| status.success()),
        "USER_NAMESPACE",
        "root of a user namespace",
    ) {
        return;
    }
    let desk = Desk::new();
    let line = format!("run postgres {TINY} --quiet");
    let program = desk.command(&line);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user"]).arg(program.get_program());
    command.args(program.get_args()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    finished(command, &line).fails(3, &["has no number in this user namespace", "ordinary user"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}
