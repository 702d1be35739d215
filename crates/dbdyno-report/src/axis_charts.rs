//! Ramps over something else than jobs, in the form of ramps over jobs: processes that work on one
//! op, nodes of a cluster, sizes of the data.

use super::curves::{MAX_CURVES, Place, Ramp, measured_throughput, service_time_chart};
use super::document::{Axis, Chart, Scale};
use super::ramps::{Identity, Placed, identities, system, tests_of_group};
use super::{Input, Language};
use dbdyno_core::analysis::ramp::{self, Figure};
use dbdyno_core::model::{Better, RunRecord, Test, params};

/// Axis of a ramp.
struct Over {
    /// The name of the axis.
    name: &'static str,
    unit: &'static str,
    /// Title of the chart, after its subject.
    title: &'static str,
    /// Parameters that are the value, so that tests with other values of them are of one ramp.
    own: &'static [&'static str],
    value: fn(&RunRecord, &Test) -> Option<f64>,
    /// The figure of the tests of one value.
    figure: for<'a> fn(&[&'a Test]) -> Option<Figure<'a>>,
    /// A point is all numbers of jobs together.
    is_over_jobs: bool,
    /// Points are of several runs.
    is_over_runs: bool,
    about: &'static str,
}

const AXES: [Over; 3] = [
    Over {
        name: "Threads",
        unit: "",
        title: "{subject} over threads",
        own: &[params::THREADS],
        value: |_, test| test.params().get(params::THREADS)?.parse().ok(),
        figure: ramp::kpm_at_fewest_jobs,
        is_over_jobs: false,
        is_over_runs: false,
        about: "Threads are the processes that one op was allowed.",
    },
    Over {
        name: "Nodes",
        unit: "",
        title: "{subject} over nodes",
        own: &[params::NODES],
        value: |_, test| Some(f64::from(test.nodes())),
        figure: ramp::throughput,
        is_over_jobs: true,
        is_over_runs: false,
        about: "The best at any number of jobs on this many nodes.",
    },
    Over {
        name: "Size of the data",
        unit: "GB",
        title: "{subject} over sizes",
        own: &[],
        value: |run, _| run.size_gb,
        figure: ramp::throughput,
        is_over_jobs: true,
        is_over_runs: true,
        about: "Runs of one system and engine, of each size the last one named; the best at any \
                number of jobs. Settings may differ with the size: see the platform.",
    },
];

/// The charts of a group.
pub(super) fn charts(input: &Input, group: &str) -> Vec<Chart> {
    AXES.iter().flat_map(|over| of_axis(input, group, over)).collect()
}

/// The labels of what [`charts`] draws, as rows over jobs are called.
pub(super) fn drawn_workloads(input: &Input) -> Vec<&str> {
    let groups = input.used_groups();
    let lines = groups
        .iter()
        .flat_map(|(group, _)| AXES.iter().flat_map(move |over| lines(input, group, over)));
    lines.filter_map(|line| line.first().map(|placed| placed.test.workload())).collect()
}

fn of_axis(input: &Input, group: &str, over: &Over) -> Vec<Chart> {
    let lines = lines(input, group, over);
    let is_of_one = |a: &Vec<Placed<'_>>, b: &Vec<Placed<'_>>| {
        let (a, b) = (a[0].test, b[0].test);
        a.workload() == b.workload() && a.kpm().unit == b.kpm().unit
    };
    let each = lines.chunk_by(is_of_one).flat_map(|lines| match lines.len() {
        0..=MAX_CURVES => pair(input, over, lines),
        _ => lines.iter().flat_map(|line| pair(input, over, std::slice::from_ref(line))).collect(),
    });
    each.collect()
}

/// The tests of each curve, those of one workload together: they differ in the value of the axis,
/// and have two values or more.
fn lines<'a>(input: &'a Input, group: &str, over: &Over) -> Vec<Vec<Placed<'a>>> {
    let mut lines: Vec<Vec<Placed<'a>>> = Vec::new();
    for placed in tests_of_group(input, group) {
        if (over.value)(&input.runs[placed.run].run, placed.test).is_none() {
            continue;
        }
        match lines.iter_mut().find(|line| is_same(input, over, line[0], placed)) {
            Some(line) => line.push(placed),
            None => lines.push(vec![placed]),
        }
    }
    lines.retain(|line| places(input, over, line).len() > 1);
    lines.sort_by_key(|line| {
        let first = line[0].test;
        (first.workload().to_string(), first.kpm().unit.clone())
    });
    lines
}

fn is_same(input: &Input, over: &Over, a: Placed<'_>, b: Placed<'_>) -> bool {
    let runs = [&input.runs[a.run].run, &input.runs[b.run].run];
    let is_run = match over.is_over_runs {
        true => system(runs[0]) == system(runs[1]) && runs[0].engine == runs[1].engine,
        false => a.run == b.run,
    };
    is_run
        && ramp::same_without(a.test, b.test, over.own)
        && (over.is_over_jobs || a.test.jobs() == b.test.jobs())
}

/// The figures of a line by the value of the axis, ascending. Of several runs with one value the
/// last counts.
fn places<'a>(input: &Input, over: &Over, line: &[Placed<'a>]) -> Vec<Place<'a>> {
    let value = |placed: &Placed<'a>| (over.value)(&input.runs[placed.run].run, placed.test);
    let mut values: Vec<f64> = line.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let place = |x: f64| {
        let of = || line.iter().filter(move |placed| value(placed) == Some(x));
        let last = of().map(|placed| placed.run).max()?;
        let tests: Vec<&'a Test> =
            of().filter(|placed| placed.run == last).map(|placed| placed.test).collect();
        Some(Place { x, figure: (over.figure)(&tests)? })
    };
    values.into_iter().filter_map(place).collect()
}

/// The chart of the KPM, and of the service time where the KPM is a rate.
fn pair(input: &Input, over: &Over, lines: &[Vec<Placed<'_>>]) -> Vec<Chart> {
    let language = input.language;
    let (platforms, identities) = (input.platforms(), identities(input));
    let firsts: Vec<&Test> = lines.iter().map(|line| line[0].test).collect();
    let ramps: Vec<Ramp<'_>> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let Placed { run, test } = line[0];
            let label = label(language, over, test, &firsts);
            let name = match platforms.len() {
                1 => label,
                _ if over.is_over_runs => label,
                _ => format!("{}, {label}", platforms[run]),
            };
            let Identity { platform, variant } = identities[run];
            Ramp {
                name,
                identity: Identity { platform, variant: variant * lines.len() + number },
                tests: &[],
                places: places(input, over, line),
                noise: Vec::new(),
            }
        })
        .collect();
    let Some(first) = ramps.first().and_then(|ramp| ramp.places.first()) else { return Vec::new() };
    let workload = lines[0][0].test.workload();
    let subject = match lines {
        [line] => label(language, over, line[0].test, &firsts),
        _ => workload.to_string(),
    };
    let said = language.say(over.title, &[("subject", &subject)]);
    let curves = Curves { over, workload, said, ramps: &ramps };
    let is_time = first.figure.better == Better::Lower;
    let (kind, axis) =
        if is_time { ("{subject}: time", "Time") } else { ("{subject}: throughput", "Throughput") };
    let chart = Chart {
        name: format!("{workload} {} {}", over.name.to_lowercase(), first.figure.unit),
        language,
        title: language.say(kind, &[("subject", &curves.said)]),
        x: curves.x(language),
        y: Axis {
            name: language.phrase(axis),
            unit: Some(first.figure.unit.into()),
            scale: Scale::Linear,
        },
        series: ramps.iter().map(|ramp| measured_throughput(input, ramp)).collect(),
        caption: language.phrase(over.about),
        ..Chart::default()
    };
    let times = (!is_time).then(|| curves.service_time(language));
    std::iter::once(chart).chain(times.flatten()).collect()
}

/// The curves of a workload over an axis.
struct Curves<'a> {
    over: &'a Over,
    workload: &'a str,
    /// Subject of the tests, as titles name it.
    said: String,
    ramps: &'a [Ramp<'a>],
}

impl Curves<'_> {
    fn x(&self, language: Language) -> Axis {
        let Curves { over, ramps, .. } = *self;
        let xs = ramps.iter().flat_map(|ramp| &ramp.places).map(|place| place.x);
        Axis {
            name: language.phrase(over.name),
            unit: (!over.unit.is_empty()).then(|| over.unit.into()),
            scale: if xs.fold(f64::MAX, f64::min) > 0.0 { Scale::Log2 } else { Scale::Linear },
        }
    }

    fn service_time(&self, language: Language) -> Option<Chart> {
        let Curves { over, workload, ref said, ramps } = *self;
        // A single point is no curve.
        service_time_chart(
            ramps,
            2,
            Chart {
                name: format!("{workload} {} service time", over.name.to_lowercase()),
                language,
                title: language.say("{subject}: service time", &[("subject", said)]),
                x: self.x(language),
                ..Chart::default()
            },
        )
    }
}

/// The workload with the codes and parameters that distinguish the curve from others.
fn label(language: Language, over: &Over, test: &Test, firsts: &[&Test]) -> String {
    let code = test.asked_as().filter(|code| *code != test.workload());
    let code = code.map_or_else(String::new, |code| format!(" ({code})"));
    let others: Vec<&&Test> =
        firsts.iter().filter(|other| other.workload() == test.workload()).collect();
    let differs = |name: &String, value: &String| {
        !over.own.contains(&name.as_str())
            && (test.chosen().contains_key(name)
                || others.iter().any(|other| other.params().get(name) != Some(value)))
    };
    let params = test.params().iter().filter(|(name, value)| differs(name, value));
    let params: String = params.map(|(name, value)| format!(" {name}={value}")).collect();
    let drive = others.iter().any(|other| other.drive() != test.drive());
    let drive = if drive { format!(" {}", test.drive().name()) } else { String::new() };
    let jobs = match (over.is_over_jobs, test.jobs()) {
        (true, _) | (false, None | Some(1)) => String::new(),
        (false, jobs) => language.say(", {jobs}", &[("jobs", &language.jobs(jobs))]),
    };
    format!("{}{code}{params}{drive}{jobs}", test.workload())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunTests;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::{at, kpm};
    use dbdyno_core::model::{KpmValue, TestResult};

    fn with_threads(threads: u32, jobs: u32, seconds: f64) -> Test {
        let mut test = TestResult {
            kpm: kpm(KpmValue::ServiceTime, "s", Better::Lower),
            kpm_value: Some(seconds),
            seq: threads,
            ..at(jobs, 1.0 / seconds)
        };
        for of in [&mut test.params, &mut test.chosen] {
            of.insert(params::THREADS.into(), threads.to_string());
        }
        test.into()
    }

    fn drawn(runs: Vec<RunTests>) -> Vec<Chart> {
        charts(&Input { runs, ..Input::default() }, "SRV")
    }

    #[test]
    fn seconds_over_threads_are_a_curve_for_each_number_of_jobs() {
        let tests = vec![
            with_threads(4, 1, 3.0),
            with_threads(1, 1, 10.0),
            with_threads(2, 1, 5.5),
            with_threads(1, 2, 12.0),
        ];
        let charts = drawn(vec![RunTests { run: run("a"), tests }]);
        let [chart] = charts.as_slice() else { panic!("{charts:?}") };
        assert_eq!((chart.y.name.as_str(), chart.y.unit.as_deref()), ("Time", Some("s")));
        assert_eq!(chart.x.name, "Threads");
        let points: Vec<(f64, f64)> =
            chart.series[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(1.0, 10.0), (2.0, 5.5), (4.0, 3.0)]);
        assert_eq!(chart.series.len(), 1, "two jobs have one point, which is no curve");
    }

    #[test]
    fn runs_of_one_system_that_differ_in_size_are_a_curve() {
        let of_size = |size_gb: f64, rate: f64| {
            let mut run = RunRecord { size_gb: Some(size_gb), ..run("a") };
            run.disclosure.set("hardware", "system", "one");
            RunTests { run, tests: vec![at(1, rate).into(), at(2, 2.0 * rate).into()] }
        };
        let charts = drawn(vec![of_size(8.0, 50.0), of_size(1.0, 90.0), of_size(8.0, 60.0)]);
        let rates: Vec<(f64, f64)> =
            charts[0].series[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(rates, [(1.0, 180.0), (8.0, 120.0)], "of two runs of a size the last counts");
        assert!(drawn(vec![of_size(8.0, 50.0), of_size(8.0, 60.0)]).is_empty());
    }
}
