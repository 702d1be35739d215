//! Skewed keys beside pgbench's `random_zipfian`: as many draws by each, counted in a table.
//!
//! pgbench takes exponents above 1 only, and draws by rejection, whose law is Zipf's; our closed
//! form has a law of its own near it. Both are known exactly, and so is how far the counts may be
//! apart.

use dbdyno::engine::Session;
use dbdyno::error::Result;
use dbdyno::model::Drive;
use dbdyno::stats::skew::{Place, SkewedKeys};

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::counts::Extent;
use super::lab::Lab;
use super::pgbench::{self, Pgbench};
use super::{drive, failed};

const WORKLOAD: &str = "WITNESS-KEYS";
const PGBENCH: &str = "random_zipfian";
const ROWS: u64 = 1000;
const EXPONENT: f64 = 1.2;
const LAW: &str = "zipf-1.2";
const JOBS: u32 = 2;
const DRAWS_PER_JOB: u64 = 20_000;
/// The hottest keys that are counted together, by the name of the figure.
const SHARES: [(&str, u64); 3] = [("hottest key", 1), ("hottest 10", 10), ("hottest 100", 100)];
/// Distance that chance explains: once in a million.
const DEVIATIONS: f64 = 5.0;
/// Ranks with fewer draws than this are counted together in a test of a law.
const MIN_EXPECTED: f64 = 10.0;
const TWO_LAWS: &str = "the closed form differs from Zipf's law by a part that is known, and two \
                        samples by chance: five standard deviations are allowed";
const CHANCE: &str =
    "chi-square of the counts by the law of the generator: five standard deviations are allowed";

/// Counts of both.
pub fn agreements(lab: &Lab, extent: Extent) -> Result<Vec<Agreement>> {
    let per_job = ((DRAWS_PER_JOB as f64 * extent.scale) as u64).max(1000);
    let mut session = lab.session(WORKLOAD)?;
    let selection = drive::fixed_ops(lab, WORKLOAD, Drive::Client, per_job)?;
    create(session.as_mut())?;
    let result = drive::test(lab, &selection, JOBS, &mut |_| Default::default(), None)?;
    let ours = counts(session.as_mut())?;

    create(session.as_mut())?;
    let text = format!(
        "\\set id random_zipfian(1, {ROWS}, {EXPONENT})\nupdate dbdyno.witness_keys set n = n + 1 \
         where id = :id;\n"
    );
    let script = pgbench::write_script(lab, &text)?;
    let drawn = Pgbench::find(lab)?.count(&pgbench::PREPARED, &script, JOBS, per_job)?;
    let theirs = counts(session.as_mut())?;
    execute(session.as_mut(), &["drop table dbdyno.witness_keys"])?;

    let law = LAW.parse().and_then(|law| SkewedKeys::new(ROWS, law, Place::Adjacent));
    let law = law.map_err(|what| failed(WORKLOAD, what))?;
    let closed: Vec<f64> = (1..=ROWS).map(|rank| law.probability(rank)).collect();
    let zipf = zipf();
    let mut agreements = Vec::new();
    let subject = Subject { engine: lab.engine.name(), workload: WORKLOAD, drive: Drive::Client };
    let report = &mut Report { subject, agreements: &mut agreements };
    report.equal("draws", result.total.ops, "table", ours.iter().sum());
    for (figure, hottest) in SHARES {
        let first = |counts: &[u64]| counts.iter().take(hottest as usize).sum::<u64>() as f64;
        let part = |law: &[f64]| law.iter().take(hottest as usize).sum::<f64>();
        let bound = apart(result.total.ops as f64, part(&closed), part(&zipf));
        report.add(figure, first(&ours), Witnessed::new(PGBENCH, first(&theirs)), bound);
    }
    chi_square(report, &ours, &closed, "degrees of freedom");
    report.subject.workload = PGBENCH;
    report.equal("draws", drawn, "table", theirs.iter().sum());
    chi_square(report, &theirs, &zipf, "degrees of freedom");
    Ok(agreements)
}

/// Zipf's law itself.
fn zipf() -> Vec<f64> {
    let weights: Vec<f64> = (1..=ROWS).map(|rank| (rank as f64).powf(-EXPONENT)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// Bound within which counts of `draws` draws may be apart that two laws give these parts.
fn apart(draws: f64, ours: f64, theirs: f64) -> Bound {
    let variance = draws * (ours * (1.0 - ours) + theirs * (1.0 - theirs));
    Bound::Within(draws * (ours - theirs).abs() + DEVIATIONS * variance.sqrt(), TWO_LAWS)
}

/// Chi-square of counts by a law, beside its degrees of freedom.
fn chi_square(report: &mut Report<'_>, counts: &[u64], law: &[f64], witness: &'static str) {
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut sum, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    let mut add = |seen: f64, expected: f64| {
        sum += (seen - expected).powi(2) / expected;
        cells += 1.0;
    };
    for (seen, part) in counts.iter().zip(law) {
        rest = (rest.0 + *seen as f64, rest.1 + part * draws);
        if rest.1 >= MIN_EXPECTED {
            add(rest.0, rest.1);
            rest = (0.0, 0.0);
        }
    }
    if rest.1 > 0.0 {
        add(rest.0, rest.1);
    }
    let freedom: f64 = cells - 1.0;
    let most = DEVIATIONS * (2.0 * freedom).sqrt();
    let bound = Bound::Within(most, CHANCE);
    report.add("chi-square", sum, Witnessed::new(witness, freedom), bound);
}

/// A table that logs nothing: 40,000 commits need not wait for the disk.
fn create(session: &mut dyn Session) -> Result<()> {
    let fill = format!(
        "insert into dbdyno.witness_keys select id, 0 from generate_series(1, {ROWS}) as id"
    );
    execute(
        session,
        &[
            "drop table if exists dbdyno.witness_keys",
            "create unlogged table dbdyno.witness_keys (id bigint primary key, n bigint not null)",
            &fill,
        ],
    )
}

fn execute(session: &mut dyn Session, statements: &[&str]) -> Result<()> {
    let mut run = |sql: &&str| session.execute(sql).map(drop);
    statements.iter().try_for_each(&mut run).map_err(|error| error.at(WORKLOAD))
}

/// Draws of each key, from the first on.
fn counts(session: &mut dyn Session) -> Result<Vec<u64>> {
    let read = session.query("select n from dbdyno.witness_keys order by id", &[]);
    let read = read.map_err(|error| error.at(WORKLOAD))?;
    let count = |row: &Vec<Option<String>>| row.first()?.as_deref()?.parse().ok();
    let counts: Option<Vec<u64>> = read.rows.iter().map(count).collect();
    counts.ok_or_else(|| failed(WORKLOAD, "its counts cannot be read"))
}
