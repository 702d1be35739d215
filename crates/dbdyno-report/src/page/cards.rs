//! The cards of a run: each group of workloads by one headline, which a rule chooses, with its ramp
//! in small, its service times and what limits it. Figures are those that the verdict accepts, as
//! far as there are any; the others keep their sign.

use super::super::document::Digits;
use super::super::limits::describe_limit;
use super::super::masthead::entries::{
    DIGITS, Entry, compact, groups, headline, mark, short, times_shown,
};
use super::super::picture::{Card, Chip, Mark, Other, Spark, SparkPoint, StyledText, Times};
use super::super::units::TimeUnit;
use super::super::{Input, Language};
use super::timeline::split;
use dbdyno_core::analysis::cpu;
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::interval::{FEWEST, supports};
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{Better, Status, Test};

/// The smallest value that is 1 with this number of digits.
const ROUNDED_TO_1: f64 = 0.999_5;
/// A law must explain this share of the variance for its knee to be drawn.
const MIN_EXPLAINED: f64 = 0.8;
/// Other programs are named from this share of the CPU on, in percent.
const FOREIGN_PCT: f64 = 10.0;
/// Number of other workloads of a group on a card; more are in the table only.
const MAX_OTHERS: usize = 6;

/// The card of each group.
pub(super) fn cards(input: &Input) -> Vec<Card> {
    let of = |(id, title, entries): &(&str, String, Vec<Entry<'_>>)| {
        headline(entries).map(|chosen| card(input.language, id, title, chosen, entries))
    };
    groups(input).iter().filter_map(of).collect()
}

fn card(
    language: Language,
    id: &str,
    title: &str,
    chosen: &Entry<'_>,
    entries: &[Entry<'_>],
) -> Card {
    let test = chosen.tests()[0];
    let main = chosen.main();
    let (mark, verdict) = main.map_or_else(
        || worst(language, chosen.tests()),
        |figure| (mark(&figure.verdict()), language.verdict(figure.status())),
    );
    let shown = main.map(|figure| short(language, figure.value));
    let (value, suffix) = shown.unwrap_or_else(|| ("–".into(), String::new()));
    let others = entries.iter().filter(|entry| entry.row.label != chosen.row.label);
    Card {
        group: id.into(),
        title: if title == id { String::new() } else { title.into() },
        mark,
        verdict,
        label: chosen.row.label.clone(),
        about: test.title().into(),
        value,
        suffix,
        unit: main.map_or_else(|| test.kpm().unit.clone(), |figure| figure.unit.into()),
        pair: main.map(|figure| pair(language, chosen, &figure)).unwrap_or_default(),
        spark: spark(language, chosen),
        times_head: language.phrase("Service time"),
        times: times(language, chosen),
        chips: main.map(|_| chips(language, chosen)).unwrap_or_default(),
        others: others.take(MAX_OTHERS).map(|entry| other(language, entry)).collect(),
    }
}

fn worst(language: Language, tests: &[&Test]) -> (Mark, String) {
    let status = tests.iter().map(|test| test.status()).max().unwrap_or(Status::Invalid);
    (status.into(), language.verdict(status))
}

/// True if the best figure of a ramp can be called so: the verdict accepts it, and that at another
/// number of jobs. What a publication states as its throughput is the best of what it measured.
fn is_best_of_several(entry: &Entry<'_>, best: &Figure<'_>) -> bool {
    let steps = ramp::curve(entry.tests());
    let accepted = steps.iter().filter(|step| supports(step.status())).count();
    supports(best.status()) && (best.test.measured().is_none() || accepted >= FEWEST)
}

/// `best, at 2 jobs · one job 996 k · 1.52 x`.
fn pair(language: Language, entry: &Entry<'_>, main: &Figure<'_>) -> Vec<StyledText> {
    let is_time = main.better == Better::Lower;
    let jobs = |figure: &Figure<'_>| language.jobs(figure.jobs);
    let strong = |figure: &Figure<'_>| StyledText::strong(&compact(language, figure.value));
    let is_best = !is_time && is_best_of_several(entry, main);
    let at = if is_best { "best, at {jobs}" } else { "at {jobs}" };
    let mut parts = vec![language.say(at, &[("jobs", &jobs(main))])];
    if is_time {
        let best =
            entry.best.filter(|best| best.better == Better::Higher && supports(best.status()));
        parts.extend(best.map(|best| {
            let values =
                [("figure", strong(&best)), ("unit", best.unit.to_string()), ("jobs", jobs(&best))];
            let text = if is_best_of_several(entry, &best) {
                "best {figure} {unit} at {jobs}"
            } else if best.jobs == main.jobs {
                "{figure} {unit}"
            } else {
                "{figure} {unit} at {jobs}"
            };
            language.say(text, &values.each_ref().map(|(name, value)| (*name, value.as_str())))
        }));
    } else {
        let is_told = |speed: &Figure<'_>| {
            main.jobs != Some(1) && speed.unit == main.unit && supports(speed.status())
        };
        let one = entry.speed.filter(is_told);
        parts.extend(
            one.map(|speed| language.say("one job {figure}", &[("figure", &strong(&speed))])),
        );
    }
    // A gain within the noise is none.
    let gain = entry.gain().filter(|gain| gain.gains() == Some(true));
    parts.extend(gain.map(|gain| StyledText::strong(&times_shown(language, gain.factor))));
    let half = main
        .half_width()
        .filter(|_| supports(main.status()))
        .map(|half| language.number(100.0 * half, Digits::Significant(2)));
    parts.extend(half.map(|half| format!("±{half}\u{a0}%")));
    StyledText::sentence(&parts.join(" · "))
}

fn spark(language: Language, entry: &Entry<'_>) -> Option<Spark> {
    let figures = ramp::curve(entry.tests());
    let best = ramp::throughput(entry.tests()).filter(|best| is_best_of_several(entry, best));
    let is_best = |figure: &Figure<'_>| best.is_some_and(|best| best.jobs == figure.jobs);
    let point = |figure: &Figure<'_>| {
        let jobs = f64::from(figure.jobs?);
        Some(SparkPoint {
            jobs,
            value: figure.value,
            mark: mark(&figure.verdict()),
            is_best: is_best(figure),
        })
    };
    let points: Vec<SparkPoint> = figures.iter().filter_map(point).collect();
    let one_job = figures.iter().find(|figure| figure.jobs == Some(1) && supports(figure.status()));
    let told = figures.iter().map(|figure| {
        format!(
            "{}: {} {}",
            language.jobs(figure.jobs),
            language.number(figure.value, DIGITS),
            figure.unit
        )
    });
    let (label, points_told) = (entry.row.label.as_str(), told.collect::<Vec<_>>().join("; "));
    (points.len() > 1).then(|| Spark {
        spoken: language
            .say("{label} over jobs: {points}", &[("label", label), ("points", &points_told)]),
        points,
        one_job: one_job.map(|figure| figure.value),
        knee: knee(entry.tests()).map(|jobs| {
            let shown = language.number(jobs, Digits::Decimals(0));
            (jobs, language.say("knee {jobs}", &[("jobs", &shown)]))
        }),
    })
}

/// Jobs of the knee, inside what was measured: where the law explains the ramp, and the knee has an
/// interval with an end.
pub(super) fn knee(tests: &[&Test]) -> Option<f64> {
    let fit = ramp::scalability(tests)?
        .law
        .filter(|fit| fit.r_squared.is_some_and(|share| share >= MIN_EXPLAINED))?;
    let most = tests.iter().filter_map(|test| test.jobs()).max()?;
    fit.knee_jobs().filter(|jobs| *jobs >= 1.0 && *jobs <= f64::from(most))
}

/// Service times at one job and at the best number of jobs.
fn times(language: Language, entry: &Entry<'_>) -> Vec<Times> {
    let shown = [entry.speed, entry.best]
        .into_iter()
        .flatten()
        .filter(|figure| figure.status() < Status::Invalid);
    let mut figures: Vec<_> = shown.collect();
    figures.dedup_by_key(|figure| figure.jobs);
    figures.iter().filter_map(|figure| times_of(language, figure)).collect()
}

/// The service times at a figure: its mean, and the percentiles of the test that stands for it;
/// none if none is known.
pub(super) fn times_of(language: Language, figure: &Figure<'_>) -> Option<Times> {
    let latency = figure.test.latency();
    let percentiles_us = [latency.p50_us, latency.p95_us, latency.p99_us];
    if percentiles_us.iter().all(Option::is_none) && latency.mean_us.is_none() {
        return None;
    }
    let mean_us = figure.mean_us().filter(|_| percentiles_us.iter().all(Option::is_none));
    let mean = mean_us.map(|us| language.say("mean {time}", &[("time", &duration(language, us))]));
    Some(Times {
        jobs: f64::from(figure.jobs?),
        name: language.jobs(figure.jobs),
        mark: mark(&figure.verdict()),
        percentiles_us,
        shown: percentiles_us.map(|us| us.map_or_else(|| "–".into(), |us| duration(language, us))),
        mean_us,
        mean_shown: mean.unwrap_or_default(),
    })
}

/// A time in us as people read it.
pub(super) fn duration(language: Language, us: f64) -> String {
    let unit = TimeUnit::suiting_us(us, ROUNDED_TO_1);
    format!("{}\u{a0}{}", language.number(us / unit.us, DIGITS), unit.sign)
}

/// Limit of the best throughput unless that is invalid, and use of the machine by others meanwhile.
fn chips(language: Language, entry: &Entry<'_>) -> Vec<Chip> {
    let Some(best) = entry.best.or(entry.speed) else { return Vec::new() };
    let Some(test) = best.test.measured() else { return Vec::new() };
    let limit = best.limit().map(|bottleneck| {
        let text = describe_limit(language, test, &bottleneck);
        Chip { text, is_limit: true, is_warning: false }
    });
    let below = || {
        let percent = language.number(split(&test.window_counters)?.own, Digits::Decimals(0));
        let text = language.say(
            "no bottleneck found; the test used {percent} % of the CPU",
            &[("percent", &percent)],
        );
        Some(Chip { text, is_limit: false, is_warning: false })
    };
    let foreign =
        cpu::foreign_pct(&test.window_counters).ok().filter(|percent| *percent >= FOREIGN_PCT);
    let foreign = foreign.map(|percent| {
        let percent = language.number(percent, Digits::Decimals(0));
        let text = language.say("other processes {percent} %", &[("percent", &percent)]);
        Chip { text, is_limit: false, is_warning: true }
    });
    let limit = limit.or_else(below).filter(|_| best.status() < Status::Invalid);
    limit.into_iter().chain(foreign).collect()
}

fn other(language: Language, entry: &Entry<'_>) -> Other {
    let main = entry.main();
    let (mark, verdict) = main.map_or_else(
        || worst(language, entry.tests()),
        |figure| (mark(&figure.verdict()), language.verdict(figure.status())),
    );
    Other {
        label: entry.row.label.clone(),
        value: main.map_or_else(|| "–".into(), |figure| compact(language, figure.value)),
        unit: main.map_or("", |figure| figure.unit).into(),
        mark,
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunTests;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::{at, counters};
    use dbdyno_core::analysis::published_checks::fixture::judged;
    use dbdyno_core::model::{Kpm, KpmValue, TestResult};

    /// The card of a ramp with these verdicts at one job and at four.
    fn card_of(verdicts: [Status; 2]) -> Card {
        card_of_steps([at(1, 100.0), at(4, 300.0)], verdicts)
    }

    fn card_of_steps(steps: [TestResult; 2], verdicts: [Status; 2]) -> Card {
        let steps = steps.into_iter().zip(verdicts);
        let tests = steps.map(|(step, status)| judged(step.into(), status)).collect();
        let runs = vec![RunTests { run: run("a"), tests }];
        cards(&Input { runs, ..Input::default() }).remove(0)
    }

    /// Text of a card below its figure.
    fn said(card: &Card) -> String {
        card.pair.iter().map(|part| part.text.as_str()).collect()
    }

    #[test]
    fn a_rate_beside_a_time_has_its_own_number_of_jobs() {
        use Status::{Conditional, Valid};
        let steps = || {
            [(1, 100.0), (4, 300.0)].map(|(jobs, per_s)| {
                let step = at(jobs, per_s);
                let rate = step.kpm.clone();
                let time = Kpm {
                    value: KpmValue::ServiceTime,
                    unit: "ms".into(),
                    better: Better::Lower,
                    scale: 1e3,
                };
                let kpm_value = Some(f64::from(jobs) * 1e3 / per_s);
                TestResult {
                    kpm: time,
                    kpm_value,
                    second: Some(rate),
                    second_value: Some(per_s),
                    ..step
                }
            })
        };
        let both = said(&card_of_steps(steps(), [Valid, Valid]));
        assert!(both.contains("best 300 qps at 4 jobs"), "{both}");
        let one = said(&card_of_steps(steps(), [Conditional, Valid]));
        assert!(!one.contains("best") && one.contains("300 qps at 4 jobs"), "{one}");
    }

    #[test]
    fn an_invalid_figure_has_no_limit() {
        use Status::{Conditional, Invalid, Valid};
        let busy = counters(&[("os_cpu_total_s", 20.0), ("os_cpu_idle_s", 2.0)]);
        let steps = || [(1, 100.0), (4, 300.0)].map(|(jobs, per_s)| at(jobs, per_s));
        let chips = |status| {
            let steps = steps().map(|step| TestResult { window_counters: busy.clone(), ..step });
            card_of_steps(steps, [status; 2]).chips.len()
        };
        assert_eq!([Valid, Conditional, Invalid].map(chips), [1, 1, 0]);
    }

    #[test]
    fn only_the_best_of_several_valid_figures_is_called_so_and_has_a_ring() {
        use Status::{Conditional, Invalid, Valid};
        let cases = [
            ([Valid, Valid], true),
            ([Invalid, Valid], false),
            ([Conditional, Valid], false),
            ([Valid, Conditional], false),
            ([Conditional, Conditional], false),
            ([Invalid, Invalid], false),
        ];
        for (verdicts, is_best) in cases {
            let card = card_of(verdicts);
            let said = said(&card);
            assert_eq!(said.starts_with("best, at"), is_best, "{verdicts:?}: {said}");
            assert!(is_best || said.starts_with("at "), "{verdicts:?}: {said}");
            let points = card.spark.map(|spark| spark.points).unwrap_or_default();
            let rings = points.iter().filter(|point| point.is_best).count();
            assert_eq!((points.len(), rings > 0), (2, is_best), "{verdicts:?}");
        }
    }
}
