//! Bars: times, costs and shares whose lengths are compared. Beside each stands its figure in
//! words; an invalid one has no bar.

use super::columns::{at_least, seconds};
use super::document::{BarPart, BarRow, Bars, Digits};
use super::ramps::{RampRow, compared, rows};
use super::{Input, Language, RunTests};
use dbdyno_core::analysis::derive;
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::price::PriceList;
use dbdyno_core::analysis::ramp::{self, Figure};
use dbdyno_core::model::{Better, Status, Test};
use dbdyno_core::stats::LatencyHistogram;

/// Limits of a wait for a commit, in ms, as publications print them.
const WAITS_MS: [f64; 3] = [1.0, 2.0, 4.0];
/// A share below this is not worth a part of a bar.
const MIN_SHARE: f64 = 0.05;

/// The time of one op in one job, of each workload on each platform; none with a single run.
pub(super) fn one_job(input: &Input) -> Option<Bars> {
    let (language, platforms) = (input.language, input.platforms());
    let mut bars = Bars { name: "one job".into(), language, ..Bars::default() };
    for row in input.used_groups().iter().flat_map(|(group, _)| compared(input, group)) {
        let figures: Vec<Option<Figure<'_>>> =
            row.runs.iter().map(|tests| one_job_time(tests)).collect();
        let drawn = |figure: &&Figure<'_>| figure.status() < Status::Invalid;
        let longest = figures.iter().flatten().filter(drawn).map(|figure| figure.value);
        let full = longest.fold(0.0, f64::max);
        let known: Vec<&Figure<'_>> = figures.iter().flatten().collect();
        if known.len() < 2 || !are_of_one_op(input, &known) {
            continue;
        }
        for (number, (figure, platform)) in figures.iter().zip(&platforms).enumerate() {
            let Some(figure) = figure else { continue };
            let shown = seconds(language, figure.value);
            let note = format!("{platform}: {shown}");
            let part = BarPart { value: figure.value, color: number, note };
            bars.rows.push(BarRow {
                group: row.label.clone(),
                label: platform.clone(),
                parts: Some(part).filter(|_| drawn(&figure)).into_iter().collect(),
                full,
                shown,
                verdict: Some(figure.status()),
                is_disturbed: figure.is_disturbed(),
            });
        }
    }
    (!bars.rows.is_empty()).then_some(bars)
}

/// The mean time of an op, or the time that a publication prints for all work of a job.
fn one_job_time<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    let is_time = |speed: &Figure<'_>| speed.unit == "s" && speed.better == Better::Lower;
    ramp::one_job_s(tests).or_else(|| METRICS[0].figure(tests).filter(is_time))
}

/// False if measured times would be compared with published ones of another op: a publication's
/// table has another size, and its service time may be that of a request to the storage. The op is
/// the same if it needs no table and both give its time as their figure.
fn are_of_one_op(input: &Input, figures: &[&Figure<'_>]) -> bool {
    let measured = figures.iter().filter(|figure| figure.test.measured().is_some()).count();
    if measured == 0 || measured == figures.len() {
        return true;
    }
    let id = figures[0].test.workload();
    let needs_no_table = |id: &str| {
        let found = input.catalog.workloads().find(|workload| workload.id == id);
        found.is_some_and(|workload| workload.tables.is_empty())
    };
    let is_time = |figure: &&Figure<'_>| figure.test.kpm().better == Better::Lower;
    figures.iter().all(is_time) && needs_no_table(id)
}

/// Cost of each platform, by its products; platforms with one currency have one scale.
pub(super) fn costs(language: Language, priced: &[(&str, &RunTests, &PriceList)]) -> Bars {
    let mut bars = Bars { name: "costs".into(), language, ..Bars::default() };
    for (_, _, list) in priced {
        for product in &list.products {
            if !bars.legend.contains(&product.name) {
                bars.legend.push(product.name.clone());
            }
        }
    }
    for (name, data, list) in priced {
        let same = priced.iter().filter(|(_, _, other)| other.currency == list.currency);
        let full = same.map(|(_, _, other)| other.cost()).fold(0.0, f64::max);
        let money = |value: f64| {
            format!("{} {}", language.number(value, Digits::Decimals(0)), list.currency)
        };
        let part = |product: &dbdyno_core::analysis::price::Product| {
            let cost = list.cost_of(product);
            let color = bars.legend.iter().position(|known| *known == product.name);
            let note = format!("{}: {}", product.name, money(cost));
            BarPart { value: cost, color: color.unwrap_or_default(), note }
        };
        let row = BarRow {
            group: list.currency.clone(),
            label: (*name).to_string(),
            parts: list.products.iter().map(part).collect(),
            full,
            shown: at_least(language, money(list.cost()), !list.unpriced(&data.run).is_empty()),
            verdict: None,
            is_disturbed: false,
        };
        bars.rows.push(row);
    }
    bars
}

/// Read sources of each workload, from the fastest tier to the slowest, with the time of an access.
pub(super) fn tiers(input: &Input) -> Option<Bars> {
    const TIERS: [(&str, &str, &str); 3] = [
        ("Buffer cache", "tier_buffer_pct", "tier_buffer_ms"),
        ("OS cache", "tier_os_cache_pct", "tier_os_cache_ms"),
        ("Device", "tier_device_pct", "tier_device_ms"),
    ];
    let language = input.language;
    let of_test = |row: BarRow, test: &Test| {
        let derived = derive(test);
        let mut times = Vec::new();
        let mut parts = Vec::new();
        for (color, (name, share, time)) in TIERS.iter().enumerate() {
            let percent = derived.get(share)?;
            let ms = derived.get(time).filter(|ms| percent > 0.0 && *ms > 0.0);
            let name = language.phrase(name);
            let shown = ms.map(|ms| seconds(language, ms / 1e3));
            times.extend(shown.map(|time| format!("{name} {time}")));
            let shown = language.number(percent, Digits::Decimals(1));
            parts.push(BarPart { value: percent, color, note: format!("{name}: {shown} %") });
        }
        let shown = times.join(", ");
        Some(BarRow { parts, full: 100.0, shown, ..row })
    };
    let legend = TIERS.iter().map(|(name, ..)| language.phrase(name)).collect();
    shares(input, Bars { name: "tiers".into(), language, legend, ..Bars::default() }, of_test)
        .map(|mut bars| {
            bars.rows.retain(leaves_the_cache);
            bars
        })
        .filter(|bars| !bars.rows.is_empty())
}

/// Some read was not served by the first tier.
fn leaves_the_cache(row: &BarRow) -> bool {
    row.parts.iter().skip(1).any(|part| part.value > MIN_SHARE)
}

/// Times of ops that commit, for workloads whose ops commit once: most of the time is the wait for
/// the log.
pub(super) fn commits(input: &Input) -> Option<Bars> {
    let language = input.language;
    let of_test = |row: BarRow, test: &Test| {
        let result = test
            .measured()
            .filter(|result| result.window.ops > 0 && result.window.commits == result.window.ops)?;
        let buckets = &result.latency.buckets;
        let all = LatencyHistogram::from_buckets(buckets).len() as f64;
        let within = |ms: f64| {
            let inside = buckets.iter().filter(|(highest_ns, _)| *highest_ns as f64 <= ms * 1e6);
            100.0 * inside.map(|(_, count)| *count).sum::<u64>() as f64 / all
        };
        if all == 0.0 {
            return None;
        }
        let mut parts = Vec::new();
        let mut before = 0.0;
        for (color, percent) in WAITS_MS.map(within).into_iter().chain([100.0]).enumerate() {
            let shown = language.number(percent - before, Digits::Decimals(1));
            let note = format!("{}: {shown} %", commit_legend(language)[color]);
            parts.push(BarPart { value: percent - before, color, note });
            before = percent;
        }
        let percent = language.number(within(WAITS_MS[0]), Digits::Decimals(1));
        let shown = language.say("{percent} % within 1 ms", &[("percent", &percent)]);
        Some(BarRow { parts, full: 100.0, shown, ..row })
    };
    let legend = commit_legend(language).to_vec();
    shares(input, Bars { name: "commits".into(), language, legend, ..Bars::default() }, of_test)
}

/// `up to 1 ms`, ..., `longer`.
fn commit_legend(language: Language) -> [String; 4] {
    let within = WAITS_MS.map(|ms| {
        let ms = language.number(ms, Digits::Decimals(0));
        language.say("up to {ms} ms", &[("ms", &ms)])
    });
    let [first, second, third] = within;
    [first, second, third, language.phrase("longer")]
}

/// A row for the best figure of each workload and run.
fn shares(
    input: &Input,
    bars: Bars,
    of_test: impl Fn(BarRow, &Test) -> Option<BarRow>,
) -> Option<Bars> {
    let (language, platforms) = (input.language, input.platforms());
    let of_row = |row: RampRow<'_>| {
        let found = row.runs.iter().zip(&platforms).filter_map(|(tests, platform)| {
            let best = ramp::throughput(tests).filter(|best| best.status() < Status::Invalid)?;
            let at = language.jobs(best.jobs);
            let label = match platforms.len() {
                1 => at,
                _ => format!("{platform}, {at}"),
            };
            let verdict = Some(best.status());
            let new = BarRow {
                group: row.label.clone(),
                label,
                verdict,
                is_disturbed: best.is_disturbed(),
                ..BarRow::default()
            };
            of_test(new, best.test)
        });
        found.collect::<Vec<_>>()
    };
    let groups = input.used_groups();
    let found = groups.iter().flat_map(|(group, _)| rows(input, group)).flat_map(of_row);
    let rows: Vec<BarRow> = found.collect();
    (!rows.is_empty()).then_some(Bars { rows, ..bars })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::{at, kpm};
    use dbdyno_core::catalog::Catalog;
    use dbdyno_core::model::{
        KpmValue, Published, PublishedFigure, PublishedKind, PublishedTest, Reason, ReasonCode,
        TestResult, Verdict,
    };

    fn input(tests: Vec<Vec<Test>>) -> Input {
        let runs = tests.into_iter().zip(["a", "b"]);
        let runs = runs.map(|(tests, name)| RunTests { run: run(name), tests });
        Input { runs: runs.collect(), ..Input::default() }
    }

    #[test]
    fn the_longest_time_of_one_job_fills_the_row_and_an_invalid_one_has_no_bar() {
        let broken = Reason::new(Status::Invalid, ReasonCode::Errors, "");
        let invalid = TestResult { verdict: Verdict::from_reasons(vec![broken]), ..at(1, 10.0) };
        let bars = one_job(&input(vec![vec![at(1, 100.0).into()], vec![at(1, 200.0).into()]]));
        let bars = bars.unwrap();
        assert_eq!(bars.rows.len(), 2);
        assert!(bars.rows.iter().all(|row| row.full >= row.parts[0].value && row.full > 0.0));
        let bars = one_job(&input(vec![vec![at(1, 100.0).into()], vec![invalid.into()]])).unwrap();
        assert!(bars.rows[1].parts.is_empty() && bars.rows[1].verdict == Some(Status::Invalid));
        assert_eq!(one_job(&input(vec![vec![at(1, 100.0).into()]])), None, "nothing to compare");
    }

    /// One job of a workload whose figure is its time, as published.
    fn printed(id: &str) -> Test {
        let figure = PublishedFigure {
            metric: "elapsed_s".into(),
            value: 20.0,
            unit: "s".into(),
            note: String::new(),
        };
        let published = Published {
            kind: PublishedKind::Speed,
            code: String::new(),
            description: String::new(),
            place: String::new(),
            nodes: Some(1),
            jobs: Some(1),
            threads: None,
            update_pct: None,
            kpm: Some("elapsed_s".into()),
            figures: vec![figure],
        };
        let mut test = PublishedTest::unread("S", published);
        (test.workload, test.group) = (id.into(), "SRV".into());
        dbdyno_core::analysis::published::fill(&mut test);
        Test::Published(test.into())
    }

    #[test]
    fn a_measured_time_stands_beside_a_published_one_only_if_the_op_is_the_same() {
        let catalog = Catalog::embedded().unwrap();
        let input = Input { catalog, ..Input::default() };
        let is_same = |id: &str| {
            let own = TestResult {
                workload: id.into(),
                kpm: kpm(KpmValue::ServiceTime, "s", Better::Lower),
                kpm_value: Some(10.0),
                ..at(1, 0.1)
            };
            let (own, theirs) = (Test::from(own), printed(id));
            let [own, theirs] = [&own, &theirs].map(|test| one_job_time(&[test]).unwrap());
            assert_eq!((own.unit, theirs.unit, theirs.value), ("s", "s", 20.0));
            assert!(are_of_one_op(&input, &[&theirs, &theirs]), "the publication's own op");
            are_of_one_op(&input, &[&own, &theirs])
        };
        assert!(is_same("CPU-FIBONACCI"));
        assert!(!is_same("DA-INDEX"), "the index of another table");
    }

    #[test]
    fn shares_of_commits_add_up() {
        let mut test = at(1, 100.0);
        (test.window.ops, test.window.commits) = (100, 100);
        test.latency.buckets =
            vec![(900_000, 50), (1_900_000, 20), (3_000_000, 20), (9_000_000, 10)];
        let bars = commits(&input(vec![vec![test.clone().into()]])).unwrap();
        let shares: Vec<f64> = bars.rows[0].parts.iter().map(|part| part.value).collect();
        assert_eq!(shares, [50.0, 20.0, 20.0, 10.0]);
        assert_eq!(bars.rows[0].shown, "50.0 % within 1 ms");
        test.window.commits = 200;
        assert_eq!(commits(&input(vec![vec![test.into()]])), None, "two commits are two waits");
    }
}
