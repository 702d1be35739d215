//! The whole run on one line of time: throughput, CPU and device of every second, and which tests
//! were disturbed.

use super::super::masthead::entries::mark;
use super::super::picture::{
    CpuSplit, Picture, Second, Timeline, TimelineGroup, TimelineTest, TimelineWords,
};
use super::super::{Input, Language, RunTests};
use dbdyno_core::analysis::cpu;
use dbdyno_core::model::{Named, SeriesPoint, Test, TestResult, params};

/// The line of a run; none if no test of it has seconds, or there are more than `most` of them.
pub(super) fn draw(input: &Input, data: &RunTests, most: usize) -> Option<Picture> {
    let language = input.language;
    let mut tests: Vec<StartedTest<'_>> = data.tests.iter().filter_map(with_start).collect();
    tests.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let begin_s = tests.first()?.at_s;
    let points: usize = tests.iter().map(|started| started.result.series.len().max(1)).sum();
    if points == 0 || points > most {
        return None;
    }
    let mut line = Timeline { words: labels(language), ..Timeline::default() };
    let mut notes: Vec<String> = Vec::new();
    for StartedTest { at_s, result, test } in tests {
        let from_s = at_s - begin_s;
        line.seconds.extend(seconds(from_s, result));
        let drawn = of_test(language, from_s, result, test, &mut notes);
        extend(&mut line.groups, result, &drawn);
        line.length_s = line.length_s.max(drawn.to_s);
        line.tests.push(drawn);
    }
    line.notes = notes;
    (line.length_s > 0.0).then_some(Picture::Timeline(Box::new(line)))
}

/// A measured test with its start.
struct StartedTest<'a> {
    /// Start, in seconds since 1970.
    at_s: f64,
    result: &'a TestResult,
    test: &'a Test,
}

/// The test with its start; none if it was not measured, or its start cannot be read.
fn with_start(test: &Test) -> Option<StartedTest<'_>> {
    let result = test.measured()?;
    let at: jiff::Timestamp = result.started_at.parse().ok()?;
    Some(StartedTest { at_s: at.as_millisecond() as f64 / 1000.0, result, test })
}

fn of_test(
    language: Language,
    from_s: f64,
    result: &TestResult,
    test: &Test,
    notes: &mut Vec<String>,
) -> TimelineTest {
    let label = format!("{} {}", result.workload, params::assignments(&result.chosen, " "));
    let jobs = language.jobs(Some(result.jobs));
    let subject = format!("{}, {jobs}", label.trim_end());
    let sign = mark(&result.verdict);
    // Also of a test that has other faults: no disturbance is hidden.
    let number = result.verdict.disturbance().map(|reason| {
        notes.push(format!("{subject}: {}", language.reason(reason)));
        notes.len()
    });
    let last = result.series.last().map_or(0.0, |point| point.t_s);
    let to_s = from_s + result.total_s.max(last);
    TimelineTest {
        from_s,
        to_s,
        jobs: result.jobs.to_string(),
        note: format!("{subject}: {}", language.verdict(test.status())),
        mark: sign,
        number,
    }
}

/// Tests of a group that follow each other share a bar.
fn extend(groups: &mut Vec<TimelineGroup>, result: &TestResult, drawn: &TimelineTest) {
    let &TimelineTest { from_s, to_s, .. } = drawn;
    match groups.last_mut().filter(|last| last.group == result.group) {
        Some(last) => last.to_s = to_s,
        None => groups.push(TimelineGroup { from_s, to_s, group: result.group.clone() }),
    }
}

/// The seconds of a test; one that is shorter than a second is a bar of its own width.
fn seconds(from_s: f64, result: &TestResult) -> Vec<Second> {
    if result.series.is_empty() {
        return short(from_s, result).into_iter().collect();
    }
    let rate = |point: &SeriesPoint| (point.interval_s > 0.0).then(|| point.ops / point.interval_s);
    let mean = result.ops_per_s;
    let per_s = |point: &SeriesPoint, name: &str| {
        let bytes = point.metrics.get(name)?;
        (point.interval_s > 0.0).then(|| bytes / 1e6 / point.interval_s)
    };
    let second = |point: &SeriesPoint| Second {
        from_s: from_s + point.t_s - point.interval_s,
        to_s: from_s + point.t_s,
        throughput: rate(point).filter(|_| mean > 0.0).map(|rate| rate / mean),
        in_window: point.in_window,
        cpu: split(&point.metrics),
        read_mb_s: per_s(point, "os_disk_read_bytes"),
        write_mb_s: per_s(point, "os_disk_write_bytes"),
    };
    result.series.iter().map(second).collect()
}

fn short(from_s: f64, result: &TestResult) -> Option<Second> {
    let per_s = |name: &str| Some(result.window_counters.get(name)? / 1e6 / result.window_s);
    (result.window_s > 0.0).then(|| Second {
        from_s,
        to_s: from_s + result.total_s,
        throughput: (result.ops_per_s > 0.0).then_some(1.0),
        in_window: true,
        cpu: split(&result.window_counters),
        read_mb_s: per_s("os_disk_read_bytes"),
        write_mb_s: per_s("os_disk_write_bytes"),
    })
}

/// CPU time by user; none if it was not counted.
pub(super) fn split(counters: &impl Named) -> Option<CpuSplit> {
    let busy = cpu::busy_pct(counters).ok()?;
    let foreign = cpu::foreign_pct(counters).ok().map(|percent| percent.min(busy));
    let share = |name| cpu::share_pct(counters, name).ok();
    Some(CpuSplit {
        own: (busy - foreign.unwrap_or(0.0)).max(0.0),
        foreign,
        iowait: share("os_cpu_iowait_s"),
        steal: share("os_cpu_steal_s"),
    })
}

fn labels(language: Language) -> TimelineWords {
    let word = |english: &str| language.phrase(english);
    TimelineWords {
        test: word("Test, jobs"),
        throughput: [word("Throughput"), word("per second, against the mean of its window")],
        cpu: [word("CPU"), word("% of the host")],
        device: [word("Device"), word("MB/s, square root")],
        in_window: word("in the window"),
        warm_up: word("outside the window"),
        own: word("database and dbdyno"),
        foreign: word("other processes"),
        iowait: word("waiting for I/O"),
        steal: word("taken by the host"),
        read: word("reading"),
        write: word("writing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture;

    #[test]
    fn a_test_without_seconds_is_a_bar_of_its_own_width() {
        let short = TestResult { series: Vec::new(), ..fixture::result() };
        let drawn = seconds(3.0, &short);
        assert_eq!(drawn.len(), 1);
        assert_eq!((drawn[0].from_s, drawn[0].to_s, drawn[0].throughput), (3.0, 15.0, Some(1.0)));
        assert_eq!(seconds(3.0, &fixture::result()).len(), 12);
        let failed = TestResult { window_s: 0.0, ..short };
        assert!(seconds(3.0, &failed).is_empty());
    }
}
