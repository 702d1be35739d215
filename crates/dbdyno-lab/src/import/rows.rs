//! The long form of published results: one row per printed number.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::Text;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{Published, PublishedFigure, PublishedKind};

/// A row of the file.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    pub source: String,
    pub study: String,
    pub platform: String,
    #[serde(default)]
    pub engine: String,
    #[serde(default)]
    pub suite: String,
    #[serde(default, deserialize_with = "size_if_any")]
    pub database_size_gb: Option<f64>,
    #[serde(default)]
    pub test_code: String,
    #[serde(default)]
    pub description: String,
    pub kind: PublishedKind,
    pub nodes: Option<u32>,
    pub jobs: Option<u32>,
    pub threads: Option<u32>,
    #[serde(default, deserialize_with = "finite_if_any")]
    pub update_pct: Option<f64>,
    pub metric: String,
    #[serde(deserialize_with = "finite")]
    pub value: f64,
    pub unit: String,
    #[serde(default)]
    pub note: String,
}

/// A number that JSON can hold: the results file could be written with NaN or infinity, but not
/// read again.
fn finite<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    f64::deserialize(from).and_then(check_finite)
}

fn finite_if_any<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<f64>, D::Error> {
    Option::deserialize(from)?.map(check_finite).transpose()
}

/// A size of a database: nobody measures one of nothing, and an empty field is what is not printed.
fn size_if_any<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<f64>, D::Error> {
    let size = finite_if_any(from)?;
    if size.is_some_and(|gb| gb <= 0.0) {
        let what = "database_size_gb must be more than 0; leave it empty if it is not printed";
        return Err(serde::de::Error::custom(what));
    }
    Ok(size)
}

fn check_finite<E: serde::de::Error>(value: f64) -> std::result::Result<f64, E> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(E::custom(format!("{value} is not a finite number")))
    }
}

/// All rows.
///
/// # Errors
/// `file:line` of a row that does not fit, or that the file has none.
pub fn read(results: Text<'_>) -> Result<Vec<Row>> {
    let rows: Vec<Row> = records(results)?;
    match rows.is_empty() {
        true => Err(Error::usage(results.place, "holds no result")
            .advise("see data/reference/README.md for the form")),
        false => Ok(rows),
    }
}

/// The records of a CSV file with a header line.
///
/// # Errors
/// `file:line` of a record that does not fit.
pub fn records<T: serde::de::DeserializeOwned>(file: Text<'_>) -> Result<Vec<T>> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file.text.as_bytes());
    let wrong = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let what = match error.into_kind() {
            csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("the record has {len} fields, the header {expected_len}")
            }
            other => format!("is not CSV of the documented form ({other:?})"),
        };
        Error::usage(format!("{}:{line}", file.place), what)
            .advise("nothing was imported; see data/reference/README.md for the form")
    };
    reader.deserialize().collect::<std::result::Result<_, _>>().map_err(wrong)
}

impl Row {
    /// Everything that it says, as text, in the order of the file.
    pub fn fields(&self) -> [String; 17] {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map_or(String::new(), |value| value.to_string())
        }
        [
            self.source.clone(),
            self.study.clone(),
            self.platform.clone(),
            self.engine.clone(),
            self.suite.clone(),
            text(self.database_size_gb),
            self.test_code.clone(),
            self.description.clone(),
            self.kind.name().to_string(),
            text(self.nodes),
            text(self.jobs),
            text(self.threads),
            text(self.update_pct),
            self.metric.clone(),
            self.value.to_string(),
            self.unit.clone(),
            self.note.clone(),
        ]
    }

    /// The place in the run table: the note's part `run=R test=T`.
    fn place(&self) -> &str {
        self.note
            .split("; ")
            .find(|part| part.starts_with("run=") && part.contains(" test="))
            .unwrap_or_default()
    }

    /// Identity that the rows of one test share.
    fn identity(&self) -> String {
        let Row { test_code, description, kind, nodes, jobs, threads, update_pct, .. } = self;
        format!(
            "{test_code}|{description}|{}|{nodes:?}|{jobs:?}|{threads:?}|{update_pct:?}|{}",
            kind.name(),
            self.place()
        )
    }

    fn figure(&self) -> PublishedFigure {
        let Row { metric, value, unit, note, .. } = self;
        PublishedFigure {
            metric: metric.clone(),
            value: *value,
            unit: unit.clone(),
            note: note.clone(),
        }
    }

    fn test(&self) -> Published {
        Published {
            kind: self.kind,
            code: self.test_code.clone(),
            description: self.description.clone(),
            place: self.place().into(),
            nodes: self.nodes,
            jobs: self.jobs,
            threads: self.threads,
            update_pct: self.update_pct,
            kpm: None,
            figures: Vec::new(),
        }
    }
}

/// The tests of some rows, in order of appearance, with all their figures. A figure that a test has
/// already (the same number printed twice) makes a test of its own. What stands outside the run
/// table (a chart label, a wait event) belongs to the row of the table with the same jobs, if there
/// is just one.
pub fn tests(rows: &[&Row]) -> Vec<Published> {
    let mut tests: Vec<Published> = Vec::new();
    let mut latest: BTreeMap<String, usize> = BTreeMap::new();
    let (in_table, beside): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| !row.place().is_empty());
    for row in in_table.into_iter().chain(beside) {
        let known = latest.get(&row.identity()).copied().or_else(|| table_row(&tests, row));
        let at = known.filter(|&at| tests[at].figure(&row.metric).is_none()).unwrap_or_else(|| {
            tests.push(row.test());
            tests.len() - 1
        });
        latest.insert(row.identity(), at);
        tests[at].figures.push(row.figure());
    }
    tests
}

/// The only row of the run table that a figure outside of it can belong to.
fn table_row(tests: &[Published], row: &Row) -> Option<usize> {
    let own = row.test();
    let fits = |test: &Published| {
        Published { place: String::new(), figures: Vec::new(), ..test.clone() } == own
    };
    let is_beside = row.place().is_empty() && row.kind == PublishedKind::Point;
    let mut fitting = tests
        .iter()
        .enumerate()
        .filter(|(_, test)| is_beside && !test.place.is_empty() && fits(test));
    let first = fitting.next().map(|(at, _)| at);
    first.filter(|_| fitting.next().is_none())
}

#[cfg(test)]
mod tests_of_rows {
    use super::*;

    const HEAD: &str = "source,study,platform,engine,suite,database_size_gb,test_code,description,\
        kind,nodes,jobs,threads,update_pct,metric,value,unit,note\n";

    fn rows(lines: &str) -> Result<Vec<Row>> {
        read(Text { place: "r.csv", text: &format!("{HEAD}{lines}") })
    }

    #[test]
    fn rows_of_one_identity_are_one_test_and_a_second_run_is_another() {
        let rows = rows(
            "s,st,p,e,u,512,T1,d,point,1,4,,,ops_per_s,10,ops/s,run=1 test=2\n\
             s,st,p,e,u,512,T1,d,point,1,4,,,cpu_busy_pct,50,%,\"run=1 test=2; printed, so\"\n\
             s,st,p,e,u,512,T1,d,point,1,4,,,ops_per_s,11,ops/s,run=1 test=3\n",
        );
        let rows = rows.unwrap();
        let tests = tests(&rows.iter().collect::<Vec<_>>());
        let seen: Vec<_> =
            tests.iter().map(|test| (test.place.as_str(), test.figures.len())).collect();
        assert_eq!(seen, [("run=1 test=2", 2), ("run=1 test=3", 1)]);
        assert_eq!((tests[0].jobs, tests[0].threads), (Some(4), None));
    }

    #[test]
    fn a_chart_label_belongs_to_the_only_row_of_the_table_with_its_jobs() {
        let rows = rows(
            "s,st,p,e,u,512,T1,d,point,1,4,,,service_time_ms,2,ms,chart label\n\
             s,st,p,e,u,512,T1,d,point,1,4,,,ops_per_s,10,ops/s,run=1 test=2\n\
             s,st,p,e,u,512,T1,d,point,1,1,,,ops_per_s,9,ops/s,run=1 test=3\n\
             s,st,p,e,u,512,T1,d,point,1,1,,,ops_per_s,9,ops/s,run=1 test=4\n\
             s,st,p,e,u,512,T1,d,point,1,1,,,service_time_ms,1,ms,chart label\n",
        );
        let rows = rows.unwrap();
        let tests = tests(&rows.iter().collect::<Vec<_>>());
        let seen: Vec<_> =
            tests.iter().map(|test| (test.place.as_str(), test.figures.len())).collect();
        assert_eq!(seen, [("run=1 test=2", 2), ("run=1 test=3", 1), ("run=1 test=4", 1), ("", 1)]);
    }

    #[test]
    fn a_row_that_does_not_fit_is_named_by_its_line() {
        for (line, words) in [
            ("s,st,p,e,u,512,T1,d,point,1,4,,,ops_per_s,fast,ops/s,\n", "r.csv:2: "),
            ("s,st,p,e,u,512,T1,d,guess,1,4,,,ops_per_s,1,ops/s,\n", "unknown variant"),
            ("s,st,p\n", "3 fields"),
            (
                "s,st,p,e,u,0,T1,d,point,1,4,,,ops_per_s,1,ops/s,\n",
                "r.csv:2: database_size_gb must be more than 0",
            ),
            (
                "s,st,p,e,u,512,T1,d,point,1,4,,,ops_per_s,NaN,ops/s,\n",
                "r.csv:2: NaN is not a finite number",
            ),
            (
                "s,st,p,e,u,512,T1,d,point,1,4,,,ops_per_s,1e999,ops/s,\n",
                "r.csv:2: inf is not a finite number",
            ),
            (
                "s,st,p,e,u,inf,T1,d,point,1,4,,,ops_per_s,1,ops/s,\n",
                "r.csv:2: inf is not a finite number",
            ),
            (
                "s,st,p,e,u,512,T1,d,point,1,4,,-inf,ops_per_s,1,ops/s,\n",
                "r.csv:2: -inf is not a finite number",
            ),
            ("", "holds no result"),
        ] {
            let error = rows(line).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}
