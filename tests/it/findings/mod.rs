//! The published studies: what they state and what follows from their data, from our own reports
//! and comparisons alone.
//!
//! The studies are imported into a results file; `report published`, `report platforms` and
//! `compare` print JSON; every formula of `derived-findings.csv` (another file by DBDYNO_FINDINGS)
//! is evaluated on that, and must give what the file expects. Every quotient of two platforms'
//! figures in a formula must stand in the output of `compare` too.

mod formula;
mod outputs;

use std::path::PathBuf;

use formula::{Call, Formula, parse};
use outputs::{Outputs, import_studies, lock};

/// A line of the file.
#[derive(Debug, serde::Deserialize)]
struct Finding {
    finding: String,
    formula: String,
    expected_value: f64,
    tolerance: f64,
}

fn findings() -> Vec<Finding> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/reference/derived-findings.csv");
    let path = std::env::var_os("DBDYNO_FINDINGS").map_or(own, PathBuf::from);
    let mut reader =
        csv::Reader::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

#[test]
fn findings_follow_from_our_own_outputs() {
    let shared = import_studies();
    let outputs = lock(&shared);
    let mut wrong = Vec::new();
    let findings = findings();
    for finding in &findings {
        let value = parse(&finding.formula).and_then(|formula| outputs.value(&formula));
        match value {
            Ok(value) if (value - finding.expected_value).abs() <= finding.tolerance + 1e-9 => {}
            Ok(value) => wrong.push(format!(
                "{}: {value} instead of {}",
                finding.finding, finding.expected_value
            )),
            Err(error) => wrong.push(format!("{}: {error}", finding.finding)),
        }
    }
    assert!(
        !findings.is_empty() && wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        findings.len(),
        wrong.join("\n")
    );
}

#[test]
fn findings_that_compare_platforms_stand_in_compare() {
    let shared = import_studies();
    let mut outputs = lock(&shared);
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for finding in &findings() {
        for (other, base, licences) in quotients(&parse(&finding.formula).unwrap()) {
            checked += 1;
            if let Err(error) = stands_in_compare(&mut outputs, other, base, licences) {
                wrong.push(format!("{}: {error}", finding.finding));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} quotients:\n{}", wrong.len(), wrong.join("\n"));
    if std::env::var_os("DBDYNO_FINDINGS").is_none() {
        assert!(checked >= 40, "only {checked} quotients found in the formulas");
    }
}

/// Two figures of a quotient, and the licenses that each is divided by.
type Quotient<'a> = (&'a Call, &'a Call, Option<(&'a Call, &'a Call)>);

/// The quotients of the speed, throughput or service time of two runs in a formula.
fn quotients(formula: &Formula) -> Vec<Quotient<'_>> {
    let mut found = Vec::new();
    formula.visit(&mut |part| {
        let Formula::Binary('/', dividend, divisor) = part else { return };
        match (&**dividend, &**divisor) {
            (Formula::Call(other), Formula::Call(base)) => found.push((other, base, None)),
            (Formula::Fold(_, parts), Formula::Call(base)) => {
                found.extend(
                    parts.iter().filter_map(Formula::call).map(|other| (other, base, None)),
                );
            }
            (Formula::Binary('/', a, x), Formula::Binary('/', b, y)) => {
                let calls = (a.call(), b.call(), x.call(), y.call());
                if let (Some(other), Some(base), Some(x), Some(y)) = calls {
                    found.push((other, base, Some((x, y))));
                }
            }
            _ => {}
        }
    });
    let are_licences =
        |(x, y): (&Call, &Call)| [x, y].iter().all(|call| call.texts[1].starts_with("licences"));
    found.retain(|(other, base, licences)| {
        let figures = ["at", "best", "speed", "thru"];
        let known = [other, base].iter().all(|call| figures.contains(&call.name.as_str()));
        let both = other.texts[1..] == base.texts[1..];
        let runs =
            (other.texts.first(), other.number("tb")) != (base.texts.first(), base.number("tb"));
        known
            && both
            && runs
            && licences.is_none_or(are_licences)
            && is_speed_or_throughput(&other.texts[2])
    });
    found
}

fn is_speed_or_throughput(metric: &str) -> bool {
    is_service_time(metric)
        || ["_per_s", "_qps", "_tps", "_mbps", "_dbps", "_iops"]
            .iter()
            .any(|end| metric.ends_with(end))
}

fn is_service_time(metric: &str) -> bool {
    ["response_time_ms", "service_time_ms", "service_time_s"].contains(&metric)
}

fn stands_in_compare(
    outputs: &mut Outputs,
    other: &Call,
    base: &Call,
    licences: Option<(&Call, &Call)>,
) -> Result<(), String> {
    let per = licences
        .map(|(x, y)| Ok::<f64, String>(outputs.call(x)? / outputs.call(y)?))
        .transpose()?;
    let expected = outputs.call(other)? / outputs.call(base)? / per.unwrap_or(1.0);
    let (base_run, other_run) = (outputs.run(base)?, outputs.run(other)?);
    let comparison = outputs.compare(&base_run, &other_run);
    let (code, metric) = (other.texts[1].as_str(), other.texts[2].as_str());
    let of_test = |line: &&serde_json::Value| line["asked_as"] == code || line["workload"] == code;
    let time = is_service_time(metric);
    let lines = |list: &str| -> Vec<serde_json::Value> {
        comparison[list].as_array().unwrap().iter().filter(of_test).cloned().collect()
    };
    let (jobs, base_jobs) = (other.number("jobs"), base.number("jobs"));
    let name = if time { "service_time_ms" } else { metric };
    let mut ratios: Vec<f64> = Vec::new();
    if jobs.is_some() && jobs == base_jobs {
        for line in lines("equal_jobs").iter().filter(|line| line["jobs"].as_f64() == jobs) {
            let service = || {
                Some(
                    line["other_service_time_ms"].as_f64()?
                        / line["base_service_time_ms"].as_f64()?,
                )
            };
            let rate = || line["ratio"].as_f64().filter(|_| line["metric"] == metric);
            ratios.extend(if time { service() } else { rate() });
        }
    }
    let kind = if other.name == "speed" { "speed" } else { "throughput" };
    for line in lines("kpms").into_iter().chain(lines("further")) {
        let at = |key: &str, jobs: Option<f64>| jobs.is_none() || line[key].as_f64() == jobs;
        if line["kind"] == kind
            && line["metric"] == name
            && at("other_jobs", jobs)
            && at("base_jobs", base_jobs)
        {
            ratios.extend(line[if licences.is_some() { "per_licence" } else { "ratio" }].as_f64());
        }
    }
    match ratios.iter().any(|ratio| (ratio / expected - 1.0).abs() < 1e-9) {
        true => Ok(()),
        false => Err(format!(
            "{code} {metric}: {expected} is not in compare {base_run} {other_run}, but {ratios:?}"
        )),
    }
}

#[test]
fn findings_of_other_units_are_flagged() {
    let shared = import_studies();
    let mut outputs = lock(&shared);
    let flagged: Vec<String> = outputs
        .reasons("orabench-2016")
        .into_iter()
        .filter(|(_, _, code)| code == "unit")
        .map(|(test, kind, _)| format!("{test} {kind}"))
        .collect();
    for row in ["T624 speed", "T616 speed"] {
        assert_eq!(flagged.iter().filter(|flag| *flag == row).count(), 7, "{flagged:?}");
    }
    assert_eq!(flagged.iter().filter(|flag| *flag == "T133 throughput").count(), 6, "{flagged:?}");
    assert_eq!(flagged.len(), 20, "{flagged:?}");
}

#[test]
fn findings_of_a_timing_floor_are_flagged_and_no_arithmetic_is() {
    let shared = import_studies();
    let mut outputs = lock(&shared);
    let floored: Vec<(String, String)> = outputs
        .reasons("orabench-2016")
        .into_iter()
        .filter(|(_, _, code)| code == "timing-floor")
        .map(|(test, kind, _)| (test, kind))
        .collect();
    let look_ups = floored
        .iter()
        .filter(|(test, kind)| test.starts_with("T61") && test != "T616" && kind == "throughput");
    // As the study's own data show: 34 of the 35 cells of T611 to T615.
    assert_eq!(look_ups.count(), 34);
    assert!(!floored.iter().any(|(test, _)| test.starts_with("T1")), "{floored:?}");
}

#[test]
fn findings_of_a_contradicted_platform_table_are_flagged_and_a_sound_one_is_not() {
    let shared = import_studies();
    let mut outputs = lock(&shared);
    let mut slips = |base: &str, other: &str| -> Vec<String> {
        let comparison = outputs.compare(base, other);
        let all = comparison["findings"].as_array().unwrap().iter();
        let texts = all
            .filter(|finding| finding["code"] == "slip")
            .map(|finding| finding["text"].as_str().unwrap().to_string());
        texts.collect()
    };
    let found = slips("xeon-6234-noht", "xeon-6234-ht");
    assert!(found[0].contains("says 8 CPUs") && found[0].contains("implies 16"), "{found:?}");
    assert!(found[1].contains("says 16 CPUs") && found[1].contains("implies 32"), "{found:?}");
    assert!(slips("dl980-violin", "exadata-x5-2-qr-hc-1tb").is_empty());
}

#[test]
fn findings_in_words_say_what_the_study_says() {
    let shared = import_studies();
    let mut outputs = lock(&shared);
    let comparison = outputs.compare("xeon-6234-noht", "xeon-6234-ht");
    let texts: Vec<&str> = comparison["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|f| f["text"].as_str())
        .collect();
    for expected in [
        "SRV-QUERY1: throughput ahead as printed, x1.15, at 32 jobs against 16; service time at \
         full load x1.8",
        "at 50 % CPU busy (16 jobs) SRV-QUERY1 has reached 88.5 % of its best throughput",
    ] {
        assert!(texts.iter().any(|text| text.contains(expected)), "{expected}: {texts:#?}");
    }
    let row = &comparison["kpms"][0];
    assert_eq!(
        (&row["low"], &row["per_core"], &row["verdict"], &row["difference"]),
        (&serde_json::Value::Null, &serde_json::Value::Null, &"valid".into(), &"undecided".into())
    );
}
