//! Requirement on a platform: a rate of a workload, optionally with an SLO.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{TextError, quote};
use crate::model::{Drive, Slo, Test, params, without_offer};

/// More of anything per second is a typing error.
const MAX_PER_S: f64 = 1e12;
/// Word of a need that names the drive.
const DRIVE: &str = "drive";
/// Syntax of a requirement.
pub const FORM: &str = "write WORKLOAD RATE UNIT, then parameters and an SLO: TP-LIGHT 8000 tps \
                        update_pct=20 p99<5ms";

/// A rate of a workload that a platform should reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// Id or alias, as it was written.
    pub workload: String,
    /// Parameters that are not the workload's defaults.
    pub params: BTreeMap<String, String>,
    /// None = the client's figures where there are some, else those of the loop inside the
    /// database.
    pub drive: Option<Drive>,
    /// Rate that is required, in `unit`.
    pub rate: f64,
    /// Unit of the rate.
    pub unit: String,
    /// Limit that a percentile of the service time or response time must meet.
    pub slo: Option<Slo>,
}

/// A file of requirements: each `[[need]]` has the words of the command line as fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    need: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    workload: String,
    rate: f64,
    unit: String,
    #[serde(default)]
    params: BTreeMap<String, Scalar>,
    #[serde(rename = "promise")]
    slo: Option<Slo>,
}

/// A value of a parameter in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Whole(i64),
    Decimal(f64),
    Flag(bool),
}

impl Scalar {
    fn as_written(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            Scalar::Whole(number) => number.to_string(),
            Scalar::Decimal(number) => number.to_string(),
            Scalar::Flag(flag) => flag.to_string(),
        }
    }
}

impl Need {
    /// Reads `TP-LIGHT 8000 tps update_pct=20 p99<5ms`; parameters may also follow the workload as
    /// in `run`.
    ///
    /// # Errors
    /// The word that is wrong.
    pub fn parse(text: &str) -> Result<Need, String> {
        let tight = text.replace(" <", "<").replace("< ", "<");
        let mut words = tight.split_whitespace();
        let (Some(name), Some(rate), Some(unit)) = (words.next(), words.next(), words.next())
        else {
            return Err(format!("{} is not a need", quote(text)));
        };
        let (workload, given) = name.split_once(':').unwrap_or((name, ""));
        let rate = rate.parse().map_err(|_| format!("{} is not a rate", quote(rate)))?;
        let mut need = Need {
            workload: workload.into(),
            params: BTreeMap::new(),
            drive: None,
            rate,
            unit: unit.into(),
            slo: None,
        };
        for word in given.split(',').filter(|word| !word.is_empty()).chain(words) {
            need.add(word)?;
        }
        need.check()
    }

    /// A parameter or an SLO.
    fn add(&mut self, word: &str) -> Result<(), String> {
        if word.contains('<') {
            let twice = self.slo.replace(word.parse()?).is_some();
            return if twice { Err("there are two SLOs".into()) } else { Ok(()) };
        }
        match word.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => self.set(name, value),
            _ => Err(format!("{} is neither param=value nor an SLO", quote(word))),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let twice = match name {
            DRIVE => self.drive.replace(drive(value)?).is_some(),
            _ => self.params.insert(name.into(), value.into()).is_some(),
        };
        if twice { Err(format!("parameter {} is given twice", quote(name))) } else { Ok(()) }
    }

    fn check(self) -> Result<Need, String> {
        match self.rate > 0.0 && self.rate <= MAX_PER_S {
            true => Ok(self),
            false => Err(format!(
                "{} is not a rate: it must be above 0 and at most {MAX_PER_S:e}",
                self.rate
            )),
        }
    }

    /// Reads a file of requirements.
    ///
    /// # Errors
    /// The mistake in the text.
    pub fn parse_file(text: &str) -> Result<Vec<Need>, TextError> {
        let file: File = toml::from_str(text)?;
        if file.need.is_empty() {
            return Err(TextError::of_whole("there is no [[need]]"));
        }
        file.need.into_iter().map(|entry| entry.read().map_err(TextError::of_whole)).collect()
    }

    /// Workload and parameters, as labels of reports.
    pub fn label(&self) -> String {
        let drive =
            self.drive.map(|drive| format!(" {DRIVE}={}", drive.name())).unwrap_or_default();
        format!("{} {}{drive}", self.workload, params::assignments(&self.params, " "))
            .trim_end()
            .to_string()
    }

    /// True if the test did the work that is needed: the parameters of the need, and the defaults
    /// of all others. What a publication states of a parameter is not a choice.
    pub fn is_of(&self, test: &Test) -> bool {
        let chosen = without_offer(test.chosen());
        let given = |name: &String| self.params.contains_key(name) || test.published().is_some();
        let has = |(name, value): (&String, &String)| test.params().get(name) == Some(value);
        test.workload() == self.workload
            && self.drive.is_none_or(|drive| drive == test.drive())
            && chosen.keys().all(given)
            && self.params.iter().all(has)
    }
}

impl Entry {
    fn read(self) -> Result<Need, String> {
        let Entry { workload, rate, unit, params, slo } = self;
        let mut need = Need { workload, params: BTreeMap::new(), drive: None, rate, unit, slo };
        for (name, value) in &params {
            need.set(name, &value.as_written())?;
        }
        need.check()
    }
}

fn drive(name: &str) -> Result<Drive, String> {
    let found = [Drive::Database, Drive::Client].into_iter().find(|drive| drive.name() == name);
    found.ok_or_else(|| format!("{} is not a drive: database or client", quote(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::at;
    use crate::model::TestResult;

    #[test]
    fn a_need_is_a_workload_a_rate_a_unit_parameters_and_an_slo() {
        let need = Need::parse("TP-LIGHT 8000 tps update_pct=30 p99 < 5ms drive=client").unwrap();
        assert_eq!(
            (need.label().as_str(), need.rate),
            ("TP-LIGHT update_pct=30 drive=client", 8000.0)
        );
        assert_eq!((need.unit.as_str(), need.slo), ("tps", "p99<5ms".parse().ok()));
        assert_eq!(Need::parse("TP-LIGHT:update_pct=30,drive=client 8000 tps p99<5ms"), Ok(need));
        for (junk, why) in [
            ("", "'' is not a need"),
            ("TP-LIGHT 8000", "is not a need"),
            ("TP-LIGHT many tps", "'many' is not a rate"),
            ("TP-LIGHT 0 tps", "0 is not a rate"),
            ("TP-LIGHT -1 tps", "-1 is not a rate"),
            ("TP-LIGHT nan tps", "NaN is not a rate"),
            ("TP-LIGHT 1e13 tps", "is not a rate"),
            ("TP-LIGHT 8 tps x", "'x' is neither"),
            ("TP-LIGHT 8 tps =x", "'=x' is neither"),
            ("TP-LIGHT 8 tps p98<5ms", "not a valid SLO"),
            ("TP-LIGHT 8 tps p99<5ms p50<1ms", "two SLOs"),
            ("TP-LIGHT 8 tps a=1 a=2", "'a' is given twice"),
            ("TP-LIGHT 8 tps drive=car", "'car' is not a drive"),
        ] {
            let said = Need::parse(junk).unwrap_err();
            assert!(said.contains(why), "{junk}: {said}");
        }
    }

    #[test]
    fn a_file_holds_several_needs() {
        let text = "[[need]]\nworkload = \"TP-LIGHT\"\nrate = 100\nunit = \"tps\"\nparams = { \
                    update_pct = 30, org = \"iot\" }\npromise = \"p99<5ms\"\n[[need]]\nworkload = \
                    \"SRV-QUERY1\"\nrate = 2.5e3\nunit = \"qps\"\n";
        let needs = Need::parse_file(text).unwrap();
        assert_eq!(
            needs[0],
            Need::parse("TP-LIGHT 100 tps update_pct=30 org=iot p99<5ms").unwrap()
        );
        assert_eq!(needs[1], Need::parse("SRV-QUERY1 2500 qps").unwrap());
        let wrong = |from: &str, to: &str| Need::parse_file(&text.replace(from, to)).unwrap_err();
        assert_eq!(Need::parse_file(""), Err(TextError::of_whole("there is no [[need]]")));
        assert!(wrong("unit", "units").what.contains("unknown field"));
        assert!(wrong("p99<5ms", "soon").what.contains("not a valid SLO"));
        assert!(wrong("rate = 100", "rate = -1").what.contains("not a rate"));
    }

    #[test]
    fn a_test_is_of_a_need_by_what_was_chosen() {
        let test = |chosen: &[(&str, &str)]| {
            let pairs = |pairs: &[(&str, &str)]| {
                pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
            };
            let params = [&[("org", "heap"), ("update_pct", "20")], chosen].concat();
            Test::from(TestResult { params: pairs(&params), chosen: pairs(chosen), ..at(1, 1.0) })
        };
        let need = |text: &str| Need::parse(&format!("SRV-QUERY1 1 qps {text}")).unwrap();
        assert!(
            need("").is_of(&test(&[])) && need("update_pct=20").is_of(&test(&[])),
            "a default may be said"
        );
        assert!(
            !need("").is_of(&test(&[("org", "iot")]))
                && need("org=iot").is_of(&test(&[("org", "iot")]))
        );
        assert!(
            need("").is_of(&test(&[("rate", "500")])),
            "the rate of an open loop is not other work"
        );
        assert!(
            !need("update_pct=30").is_of(&test(&[])) && !need("drive=database").is_of(&test(&[]))
        );
    }
}
