//! Members of a team who may write its results: what they get of the load generators.

use std::os::unix::net::UnixListener;
use std::process::Stdio;

use super::fake::Heard;
use crate::servers::Lease;
use crate::support::{Desk, column, ended, session, until};

const SECRET: &str = "w0rker-s3cret";

#[test]
fn a_load_machine_opens_no_target_that_its_owner_did_not_name() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let (results, mut team) = (&lease.url, session(&lease.url));
    let heard = Heard::at(UnixListener::bind(desk.path(".s.PGSQL.5432")).unwrap());
    let fake = format!("postgres://worker@/x?host={}", desk.path("").display());
    let to_the_fake = format!(
        "update dbdyno_results.share set task = (task::jsonb || '{{\"engine\": \"postgres\", \
         \"url\": \"{fake}\"}}')::text"
    );
    let without_work = "update dbdyno_results.share set task = \
        jsonb_set(task::jsonb, '{share,own,parts}', '[]')::text";
    let of_another_build = "update dbdyno_results.share set task = \
        (task::jsonb || '{\"build\": \"release-0\"}')::text";
    for (change, word) in [
        (&*to_the_fake, "is not named on this"),
        (without_work, "without work"),
        (of_another_build, "runs another build of dbdyno"),
    ] {
        let run = desk.spawn(&format!(
            "run null --results {results} --workers 1 --workload SESSION --jobs 1 --warmup 0 \
             --duration 100ms"
        ));
        let open = "select 1 where to_regclass('dbdyno_results.share') is not null";
        until("there are shares", || column(team.as_mut(), open) == ["1"]);
        let waits = "select count(*) from dbdyno_results.share where stage = 'open'";
        until("a share waits", || column(team.as_mut(), waits) == ["1"]);
        team.execute(change).unwrap();
        let mut command = desk.command(&format!("worker {results} null"));
        command.env("PGPASSWORD", SECRET).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut worker = command.spawn().unwrap();
        let told = ended(run, "a run whose share a member changed");
        worker.kill().unwrap();
        let said = ended(worker, "a worker that is ended").stderr;
        assert!(said.contains(word), "{said}\n{told:?}");
        assert_eq!(heard.passwords(), Vec::<String>::new(), "{said}");
    }
    desk.run(&format!("worker {results}")).fails(2, &["TARGET"]);
    desk.run(&format!("worker {results} sqlite")).fails(2, &["only seen by this machine"]);
}
