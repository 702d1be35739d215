//! Check of the rows that were touched: the content of the tables after a test is the witness of
//! which keys were drawn.
//!
//! Every update adds 1 to the column `status`, which is 0 in all loaded rows. So the table itself
//! tells how often each key was updated, and nothing of our key generator is needed to judge it:
//! independent draws leave a known number of different rows (occupancy) and a known chi-square.
//! Draws that repeat those of another test, job or repetition, or that prefer some keys, leave
//! others.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dbdyno::engine::{self, Access, ConnectTo, Session};
use dbdyno::model::Target;
use dbdyno::model::rows::table_rows;
use dbdyno::server::PrivateServer;

use crate::leftovers::Directory;
use crate::servers::Lease;
use crate::support::{Desk, directory, session, settings, start_options, try_session_of};

/// Standard deviations beyond which draws are not independent: by chance one of two million figures
/// is. With a fixed seed and fixed work a figure is the same each time.
const FAR: f64 = 5.0;
/// 100,000 rows of the big table: with more than 48,271 keys a choice that is drawn after the key
/// is decided by it.
const MANY_KEYS_GB: f64 = 0.1;
/// The smallest big table, 48,000 rows, where nothing is chosen after the key.
const FEW_KEYS_GB: f64 = 0.048;

/// Numbers of keys by their number of updates.
type Touched = BTreeMap<u64, u64>;

/// Distance from independent draws, in standard deviations: the number of different keys, and
/// chi-square against uniform. A choice that depends on the key shows in both.
fn deviations(touched: &Touched) -> [f64; 2] {
    let keys = touched.values().sum::<u64>() as f64;
    let draws = touched.iter().map(|(updates, keys)| updates * keys).sum::<u64>() as f64;
    let met = keys - touched.get(&0).map_or(0.0, |keys| *keys as f64);
    // Balls in boxes: W. Feller, "An Introduction to Probability Theory", volume 1, IX.
    let empty = keys * (1.0 - 1.0 / keys).powf(draws);
    let both_empty = keys * (keys - 1.0) * (1.0 - 2.0 / keys).powf(draws);
    let spread = (both_empty + empty - empty * empty).sqrt();
    let expected = draws / keys;
    let chi_square: f64 =
        touched.iter().map(|(updates, n)| *n as f64 * (*updates as f64 - expected).powi(2)).sum();
    let (freedom, variance) = (keys - 1.0, 2.0 * (keys - 1.0) * (1.0 - 1.0 / draws));
    [(met - (keys - empty)) / spread, (chi_square / expected - freedom) / variance.sqrt()]
}

#[track_caller]
fn assert_independent(touched: &Touched, least_updates: u64, what: &str) {
    let updates: u64 = touched.iter().map(|(updates, keys)| updates * keys).sum();
    assert!(updates >= least_updates, "{what}: {updates} updates: {touched:?}");
    let found = deviations(touched);
    assert!(found.iter().all(|z| z.abs() < FAR), "{what}: {found:.1?} deviations: {touched:?}");
}

#[test]
fn repeated_and_striped_draws_are_seen() {
    // 15,000 updates of 100,000 rows: 13,929 different ones if independent.
    let independent = Touched::from([(0, 86_071), (1, 12_910), (2, 968), (3, 49), (4, 2)]);
    assert_independent(&independent, 15_000, "as theory says");
    let repeated = Touched::from([(0, 92_774), (2, 6_970), (4, 256)]);
    assert!(deviations(&repeated).iter().all(|z| z.abs() > 100.0), "{:?}", deviations(&repeated));
    // What the choice after the key left on such a table.
    let striped = Touched::from([(0, 86_359), (1, 12_369), (2, 1_185), (3, 87)]);
    assert!(deviations(&striped).iter().all(|z| z.abs() > FAR), "{:?}", deviations(&striped));
}

/// A database that a run leaves as it is.
struct Kept {
    desk: Desk,
    engine: &'static str,
    size_gb: f64,
    /// None: a file below the desk.
    url: Option<String>,
    _lease: Option<Lease>,
}

impl Kept {
    fn new(engine: &'static str, is_server: bool) -> Kept {
        Kept::with_lease(engine, is_server.then(|| Lease::new(engine, None, &[])))
    }

    fn with_lease(engine: &'static str, lease: Option<Lease>) -> Kept {
        let url = lease.as_ref().map(|lease| lease.url.clone());
        Kept { desk: Desk::new(), engine, size_gb: MANY_KEYS_GB, url, _lease: lease }
    }

    fn with_few_keys(self) -> Kept {
        Kept { size_gb: FEW_KEYS_GB, ..self }
    }

    /// The run of a suite of these entries.
    fn run(&self, entries: &[(&str, &str)], more: &str) -> serde_json::Value {
        let catalog = self.desk.path("catalog");
        std::fs::create_dir_all(catalog.join("suites")).unwrap();
        let size_gb = self.size_gb;
        let mut suite =
            format!("id = \"touched\"\ntitle = \"t\"\nabout = \"t\"\nsize_gb = {size_gb}\n");
        for (workload, drive) in entries {
            let (id, params) = workload.split_once(':').unwrap_or((workload, ""));
            let params =
                params.split_once('=').map(|(name, value)| format!("{name} = \"{value}\""));
            let params = params.unwrap_or_default();
            suite += &format!(
                "\n[[entry]]\nworkload = \"{id}\"\ndrive = \"{drive}\"\nparams = {{ {params} }}\n"
            );
        }
        std::fs::write(catalog.join("suites/touched.toml"), suite).unwrap();
        let target = self.url.as_ref().map_or((self.engine, "--keep"), |url| (url, ""));
        self.desk
            .run(&format!(
                "--catalog {} run {} {} --size {size_gb} --profile XS --no-sampler --quiet --suite \
                 touched --format json {more}",
                catalog.display(),
                target.0,
                target.1
            ))
            .ok()
            .json()
    }

    fn session(&self) -> Box<dyn Session> {
        if let Some(url) = &self.url {
            return try_session_of(self.engine, url).unwrap();
        }
        let target = Target::Embedded { engine: self.engine.into(), data_dir: self.desk.data() };
        let file = Some(self.file());
        let to = ConnectTo { file, settings: settings(&[]), ..ConnectTo::new(target) };
        engine::find(self.engine).unwrap().open(&to, Access::Provision).unwrap().session().unwrap()
    }

    /// The largest file of the data directory.
    fn file(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.desk.data()).unwrap().flatten();
        let files = entries.filter(|entry| entry.metadata().unwrap().is_file());
        files.max_by_key(|entry| entry.metadata().unwrap().len()).unwrap().path()
    }

    fn table(&self, kind: &str) -> String {
        format!("{}{kind}", engine::find(self.engine).unwrap().capabilities().prefix)
    }

    /// Touched rows of a table by this key, all of whose rows are updated together; from now on
    /// nothing is.
    fn take(&self, kind: &str, key: &str) -> Touched {
        let (mut session, table) = (self.session(), self.table(kind));
        let torn = format!(
            "select count(*) as n from (select {key} from {table} group by {key} having \
             min(status) <> max(status)) as t"
        );
        assert_eq!(session.query(&torn, &[]).unwrap().rows[0][0].as_deref(), Some("0"), "{key}");
        let rows = session
            .query(
                &format!(
                    "select updates, count(*) as n from (select {key}, max(status) as updates from \
                     {table} group by {key}) as t group by updates"
                ),
                &[],
            )
            .unwrap();
        session.execute(&format!("update {table} set status = 0 where status <> 0")).unwrap();
        let number = |text: &Option<String>| text.as_ref().unwrap().parse::<u64>().unwrap();
        rows.rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect()
    }
}

/// Each key half as often: what two ways drew that are to draw the same. An answer is checked by an
/// update of its own, once per way.
#[track_caller]
fn of_one_way(touched: &Touched, ways: u64) -> Touched {
    let odd: u64 = touched.iter().filter(|(updates, _)| *updates % 2 == 1).map(|(_, n)| n).sum();
    assert!(odd <= ways, "{odd} keys were not updated equally often: {touched:?}");
    let mut halves = Touched::new();
    touched.iter().for_each(|(updates, keys)| *halves.entry(updates / 2).or_default() += keys);
    halves
}

const BOTH: [&str; 2] = ["database", "client"];

/// The workload by each way to drive it.
fn by<'a>(workload: &'a str, drives: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    drives.iter().map(|drive| (workload, *drive)).collect()
}

#[test]
fn sqlite_updates_the_rows_of_independent_draws() {
    let kept = Kept::new("sqlite", false);
    kept.run(
        &[("TP-LIGHT:update_pct=50", "client"), ("SRV-UPDATE1", "client")],
        "--jobs 1,2 --repeat 2 --ops 1000",
    );
    assert_independent(&kept.take("big", "id"), 2_800, "TP-LIGHT");
    assert_independent(&kept.take("small", "id"), 5_500, "SRV-UPDATE1");
    kept.run(&[("TP-UPDATE32", "client")], "--jobs 2,2 --ops 25");
    assert_independent(&kept.take("big", "id"), 3_000, "TP-UPDATE32");
}

#[test]
fn duckdb_updates_the_rows_of_independent_draws() {
    let kept = Kept::new("duckdb", false);
    kept.run(
        &[("TP-LIGHT:update_pct=50", "client"), ("SRV-UPDATE1", "client")],
        "--jobs 2,2 --ops 150",
    );
    assert_independent(&kept.take("big", "id"), 200, "TP-LIGHT");
    assert_independent(&kept.take("small", "id"), 500, "SRV-UPDATE1");
}

#[test]
fn postgres_updates_the_rows_of_independent_draws_in_both_drives() {
    on_server(
        "postgres",
        &[("TP-MEDIUM:update_pct=50", "key25"), ("TP-HEAVY:update_pct=50", "key125")],
    );
}

#[test]
fn mariadb_updates_the_rows_of_independent_draws_in_both_drives() {
    on_server("mariadb", &[("TP-MEDIUM:update_pct=50", "key25")]);
}

/// `several`: workloads that update all rows of a key, and the column of that key.
fn on_server(engine: &'static str, several: &[(&str, &str)]) {
    let kept = Kept::new(engine, true);
    // With 10,000 updates a choice that depends on the key is eight deviations off (measured: 12.7
    // with 15,000, in proportion to them), and is missed once in a thousand times.
    for choosing in ["TP-LIGHT:update_pct=50", "STO-RANDOM:write_pct=50"] {
        kept.run(&[(choosing, "database")], "--jobs 2 --ops 10000");
        assert_independent(&kept.take("big", "id"), 9_600, choosing);
    }
    let others = [("TP-LIGHT:update_pct=50", "client"), ("TP-UPDATE32", "client")];
    let ways = by("SRV-UPDATE1", &BOTH);
    // Keys that a job or a repetition draws as another one did are a hundred deviations off.
    kept.run(&[&others[..], &ways[..]].concat(), "--jobs 2 --repeat 2 --ops 100");
    // Of both the rows are uniform and independent, and so is what they add up to.
    assert_independent(&kept.take("big", "id"), 12_800, "TP-LIGHT and TP-UPDATE32");
    assert_independent(&of_one_way(&kept.take("small", "id"), 2), 390, "SRV-UPDATE1");
    for (several, key) in several {
        kept.run(&by(several, &BOTH), "--jobs 2 --ops 100");
        assert_independent(&kept.take("big", key), 130, several);
    }
}

/// Keys that each session read, in their order, by what the server's own log says of every
/// statement; a session that reads an answer only is left out.
type Read = BTreeMap<u64, Vec<u64>>;

/// Parts of the keys that pairs of successive ones are counted by.
const PAIR_PARTS: u64 = 16;

/// Distance of pairs of successive keys of a session from independent ones: chi-square, in standard
/// deviations. Every key belongs to one pair.
fn deviation_of_pairs(read: &Read, keys: u64) -> f64 {
    let part = |key: u64| (key - 1) * PAIR_PARTS / keys;
    let mut counts = vec![0.0; (PAIR_PARTS * PAIR_PARTS) as usize];
    for pair in read.values().flat_map(|keys| keys.chunks_exact(2)) {
        counts[(part(pair[0]) * PAIR_PARTS + part(pair[1])) as usize] += 1.0;
    }
    let expected = counts.iter().sum::<f64>() / counts.len() as f64;
    let chi_square = counts.iter().map(|n| (n - expected).powi(2)).sum::<f64>() / expected;
    let freedom = (counts.len() - 1) as f64;
    (chi_square - freedom) / (2.0 * freedom).sqrt()
}

/// Numbers of these keys by their number of reads.
fn count_touches(read: &Read, keys: u64) -> Touched {
    let mut times = vec![0; keys as usize];
    read.values().flatten().for_each(|key| times[*key as usize - 1] += 1);
    let mut touched = Touched::new();
    times.into_iter().for_each(|times: u64| *touched.entry(times).or_default() += 1);
    touched
}

#[test]
fn related_pairs_are_seen() {
    const KEYS: u64 = 100_000;
    // The second key is that of the other end: each alone is uniform.
    let mut state = 1;
    let mut next = || {
        state = state * 48_271 % 2_147_483_647;
        1 + ((state * KEYS) >> 31)
    };
    let independent: Vec<u64> = (0..9_600).map(|_| next()).collect();
    let mirrored = independent.iter().flat_map(|key| [*key, KEYS + 1 - key]).collect();
    let deviation = |keys: Vec<u64>| deviation_of_pairs(&Read::from([(1, keys)]), KEYS);
    let found = [deviation(independent), deviation(mirrored)];
    assert!(found[0].abs() < FAR && found[1] > 100.0, "{found:?}");
}

/// A MariaDB that writes every statement to its log.
struct Logged(Kept);

impl Logged {
    fn new() -> Logged {
        let settings = [("log_output", "'TABLE'"), ("general_log", "on")];
        let lease = Lease::new("mariadb", None, &settings);
        Logged(Kept::with_lease("mariadb", Some(lease)).with_few_keys())
    }

    fn read(&self) -> Read {
        let number = |text: &Option<String>| text.as_ref().unwrap().parse::<u64>().unwrap();
        let rows = self.0.session().query(MARIADB_LOG, &[]).unwrap().rows;
        let mut read = Read::new();
        for row in rows {
            read.entry(number(&row[0])).or_default().push(number(&row[1]));
        }
        read.retain(|_, keys| keys.len() > 10);
        read
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let mut session = self.0.session();
        for sql in ["set global general_log = off", "truncate mysql.general_log"] {
            let _ = session.execute(sql); // the test may be failing already
        }
    }
}

/// Session and key of each statement, in their order.
const MARIADB_LOG: &str = "
select thread_id, cast(substring_index(argument, ' id = ', -1) as unsigned) as id
from mysql.general_log
where command_type = 'Execute' and argument like '% where id = %'";

/// Two tests of two jobs that each read 4,800 keys; 5 standard deviations of what they read are 2 %
/// of the different rows, while a job that repeated another one's keys would take 20 %.
fn assert_reads_independent(engine: &str, run: &serde_json::Value, read: &Read) {
    let rows = table_rows("big", FEW_KEYS_GB);
    assert_independent(&count_touches(read, rows), 4 * 4_800, engine);
    let pairs = deviation_of_pairs(read, rows);
    assert!(pairs.abs() < FAR, "{engine}: pairs are {pairs:.1} standard deviations off");
    for test in run["tests"].as_array().unwrap() {
        let number = |name: &str| test["counters"][name].as_f64().unwrap();
        assert_eq!(test["rows"].as_f64(), Some(number("rows_fetched")), "{engine}: {test:#}");
        assert_eq!(test["rows"].as_f64(), Some(9_600.0), "{engine}: {test:#}");
    }
}

const READS: (&str, &str) = ("TP-SELECT32", "client");
const TWICE: &str = "--jobs 2,2 --ops 150 --warmup 0";

#[test]
fn mariadb_reads_the_rows_of_independent_draws() {
    let logged = Logged::new();
    let run = logged.0.run(&[READS], TWICE);
    assert_reads_independent("mariadb", &run, &logged.read());
}

/// A PostgreSQL that writes every statement with its values to its log.
struct LoggedPostgres {
    // Ends before its files go.
    _server: PrivateServer,
    kept: Kept,
    home: Directory,
}

impl LoggedPostgres {
    fn start() -> LoggedPostgres {
        let home = directory();
        let settings = [("log_statement", "all"), ("log_line_prefix", "%p "), ("fsync", "off")];
        let server =
            dbdyno::server::start("postgres", &start_options(home.path(), &settings)).unwrap();
        let url = Some(server.url());
        let kept = Kept { url, ..Kept::with_lease("postgres", None).with_few_keys() };
        LoggedPostgres { _server: server, kept, home }
    }

    /// The values of the statements in which `words` stand, by session, in their order. A statement
    /// is a line `4711 LOG:  execute s1: select ...`, its values one `4711 DETAIL:  parameters: $1
    /// = '17'` behind it.
    fn values(&self, words: &str) -> BTreeMap<u64, Vec<Vec<u64>>> {
        let log = self.home.path().join("dbdyno-postgres/server.log");
        let text = std::fs::read_to_string(log).unwrap();
        let mut values: BTreeMap<u64, Vec<Vec<u64>>> = BTreeMap::new();
        let mut is_wanted: BTreeMap<u64, bool> = BTreeMap::new();
        for line in text.lines() {
            let Some((process, said)) = line.split_once(' ') else { continue };
            let Ok(process) = process.parse() else { continue };
            if said.starts_with("LOG:  execute") {
                is_wanted.insert(process, said.contains(words));
            } else if said.starts_with("DETAIL:") && is_wanted.get(&process) == Some(&true) {
                // Every second piece stands between quotation marks.
                let pieces = said.split('\'').skip(1).step_by(2);
                let numbers = pieces.map(|piece| piece.parse().unwrap()).collect();
                values.entry(process).or_default().push(numbers);
            }
        }
        values.retain(|_, statements| statements.len() > 10);
        values
    }
}

#[test]
fn postgres_reads_the_rows_of_independent_draws() {
    let logged = LoggedPostgres::start();
    let run = logged.kept.run(&[READS], TWICE);
    let first = |(process, statements): (u64, Vec<Vec<u64>>)| {
        (process, statements.into_iter().map(|values| values[0]).collect())
    };
    let read = logged.values("from dbdyno.big where id = ").into_iter().map(first).collect();
    assert_reads_independent("postgres", &run, &read);
}

/// Each job has two sets of rows of its own, and draws one of them by each op.
#[test]
fn postgres_writes_one_of_two_sets_of_each_job_as_often_as_the_other() {
    const OPS: usize = 400;
    let logged = LoggedPostgres::start();
    let line = format!("--jobs 2,2 --ops {OPS} --warmup 0");
    let run = logged.kept.run(&[("DBWR-THR:rows=8", "client")], &line);
    for test in run["tests"].as_array().unwrap() {
        assert_eq!(test["rows"].as_f64(), Some((2 * OPS * 8) as f64), "{test:#}");
    }
    let drawn: Vec<Vec<(u64, u64)>> = logged
        .values("update dbdyno.dbwr_thr set counter")
        .into_values()
        .map(|statements| statements.iter().map(|values| (values[0], values[1])).collect())
        .collect();
    assert_eq!(drawn.len(), 4, "two tests of two jobs");
    // Binomial: half of them, give or take; also of the pairs of successive ones that are alike.
    let spread = (OPS as f64).sqrt() / 2.0;
    for sets in &drawn {
        assert!(sets.len() >= OPS && sets.iter().all(|(job, _)| *job == sets[0].0), "{sets:?}");
        let ones = sets.iter().filter(|(_, set)| *set == 1).count() as f64;
        let alike = sets.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
        for found in [ones, alike] {
            assert!((found - OPS as f64 / 2.0).abs() < FAR * spread, "{found}: {sets:?}");
        }
    }
    let differ = |a: &Vec<(u64, u64)>, b: &Vec<(u64, u64)>| {
        a.iter().zip(b).filter(|(a, b)| a.1 != b.1).count() as f64
    };
    for (at, one) in drawn.iter().enumerate() {
        for other in &drawn[at + 1..] {
            let found = differ(one, other);
            assert!((found - OPS as f64 / 2.0).abs() < FAR * spread, "two jobs drew the same");
        }
    }
}

#[test]
fn both_sides_of_a_block_update_the_same_rows_and_a_seed_of_keys_gives_them_again() {
    let (desk, sides) = (Desk::new(), [(); 2].map(|()| Lease::new("postgres", None, &[])));
    let ab_test = |name: &str, more: &str| {
        desk.run(&format!(
            "ab-test {} {} --size 0.01 --workload TP-LIGHT:update_pct=100 --jobs 1 --warmup 0 \
             --duration 100ms --max-duration 0 --quiet --name {name} {more}",
            sides[0].url, sides[1].url
        ))
        .ok();
    };
    ab_test("one", "");
    let touched = sides.each_ref().map(|side| updates_by_row(&side.url));
    // Whoever did fewer ops has updated what the other one has begun with.
    let [few, many] = match touched {
        [a, b] if a.values().sum::<u64>() <= b.values().sum::<u64>() => [a, b],
        [a, b] => [b, a],
    };
    assert!(few.len() > 5, "{few:?}");
    let beyond = few.iter().filter(|(row, updates)| *updates > many.get(*row).unwrap_or(&0));
    assert_eq!(beyond.count(), 0, "{few:?} {many:?}");
    let first = desk.shown("one-A");
    ab_test("two", &format!("--key-seed {}", first["key_seed"]));
    ab_test("three", "");
    let seeds = ["one-A", "one-B", "two-A", "three-A", "three-B"].map(|run| key_seeds(&desk, run));
    assert!(!seeds[0].is_empty() && seeds[..3].iter().all(|other| *other == seeds[0]), "{seeds:?}");
    assert!(seeds[3] != seeds[0] && seeds[4] == seeds[3], "{seeds:?}");
}

/// A run that reads what an earlier one has read measures its cache.
#[test]
fn two_runs_on_one_database_draw_different_keys_unless_they_are_told_otherwise() {
    let kept = Kept::new("sqlite", false).with_few_keys();
    let drawn = |more: &str| {
        let run = kept
            .run(&[("TP-LIGHT:update_pct=100", "client")], &format!("--ops 100 --jobs 1 {more}"));
        let sql = "select id from big where status > 0 order by id";
        let ids = crate::support::column(kept.session().as_mut(), sql);
        kept.take("big", "id");
        (run["key_seed"].as_u64().unwrap(), ids)
    };
    let [(seed, one), (_, two)] = [drawn(""), drawn("")];
    let (_, again) = drawn(&format!("--key-seed {seed}"));
    // Of 48,000 rows; the look at the answer before the test updates a row that is always the same.
    assert!(one.len() > 90, "{one:?}");
    let shared = |other: &[String]| one.iter().filter(|id| other.contains(id)).count();
    assert!(shared(&two) < 10, "{one:?} {two:?}");
    assert_eq!(one, again);
}

/// Number of updates of each row of the big table that was updated.
fn updates_by_row(url: &str) -> BTreeMap<u64, u64> {
    let sql = "select id, status from dbdyno.big where status > 0";
    let number = |text: &Option<String>| text.as_ref().unwrap().parse::<u64>().unwrap();
    let rows = session(url).query(sql, &[]).unwrap().rows;
    rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect()
}

/// The seeds of the tests of a run.
fn key_seeds(desk: &Desk, run: &str) -> Vec<u64> {
    let run = desk.shown(run);
    let tests = run["tests"].as_array().unwrap();
    tests.iter().map(|test| test["key_seed"].as_u64().unwrap()).collect()
}
