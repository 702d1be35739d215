//! The whole run on one line of time.

use maud::{Markup, html};

use super::panels::stack;
use super::svg::{self, Span, rule, stretched, text};
use super::wide;
use crate::Language;
use crate::picture::{Second, Timeline};

/// Heights of the tracks of the line of time.
const NAMES: f64 = 44.0;
const RATE: f64 = 56.0;
const CPU: f64 = 84.0;
const DEVICE: f64 = 56.0;

/// Most disturbed tests that are listed openly; more are folded.
const MAX_DISTURBED: usize = 12;

/// The whole run; every second is a part of a path.
pub(super) fn timeline(found: &Timeline, language: Language) -> Markup {
    let x = Span { low: 0.0, high: found.length_s, from: 0.0, to: 100.0, is_log: false };
    let words = &found.words;
    let [label, track, key] = ["label", "track", "key"];
    let most = found
        .seconds
        .iter()
        .flat_map(|second| [second.read_mb_s, second.write_mb_s])
        .flatten()
        .fold(0.0, f64::max);
    let content = html! {
        div.timeline { "\n"
            div class=(label) { strong { (words.test) } }
            div class=(track) { (names(found, &x)) } div class=(key) {} "\n"
            div class=(label) { strong { (words.throughput[0]) } " " (words.throughput[1]) }
            div class=(track) { (rates(found, &x)) }
            div class=(key) {
                (key_of("main", &words.in_window))
                (key_of("iowait", &words.warm_up))
            } "\n"
            div class=(label) { strong { (words.cpu[0]) } " " (words.cpu[1]) }
            div class=(track) { (cpu_track(found, &x)) }
            div class=(key) {
                (key_of("steal", &words.steal))
                (key_of("foreign", &words.foreign))
                (key_of("iowait", &words.iowait))
                (key_of("own", &words.own))
            } "\n"
            @if most > 0.0 {
                div class=(label) { strong { (words.device[0]) } " " (words.device[1]) }
                div class=(track) { (device(found, &x, most)) }
                div class=(key) {
                    @let most = svg::tick(language, most.round());
                    (key_of("p2", &format!("{}, {most}", words.read)))
                    (key_of("p4", &words.write))
                } "\n"
            }
            div class=(label) { "min:s" } div class=(track) { (clock(&x)) } div class=(key) {} "\n"
        }
    };
    let notes = html! { ol.disturbed { @for note in &found.notes { li { (note) } } } "\n" };
    html! {
        (wide(&words.test, &content))
        @if found.notes.len() > MAX_DISTURBED {
            details {
                summary { (language.count("disturbed", found.notes.len(), &[])) } "\n"
                (notes)
            } "\n"
        } @else if !found.notes.is_empty() { (notes) }
    }
}

fn key_of(class: &str, word: &str) -> Markup {
    html! { span { i class={ "box " (class) } {} (word) } }
}

fn names(found: &Timeline, x: &Span) -> Markup {
    html! {
        svg width="100%" height=(svg::px(NAMES)) role="img" aria-label=(found.words.test) {
            @for group in &found.groups {
                @let (left, right) = (x.place(group.from_s), x.place(group.to_s));
                (rule((left, 17.0), (right, 17.0), "bar"))
                @if right - left > 2.5 { (text(left, 12.0, "strong", &group.group)) }
            }
            @for test in &found.tests {
                @let middle = x.place((test.from_s + test.to_s) / 2.0);
                g { title { (test.note) }
                    @if found.tests.len() <= 80 { (text(middle, 36.0, "m", &test.jobs)) }
                }
            }
        }
    }
}

/// A rectangle per second that has a value: from and to are heights.
fn bars(found: &[Second], x: &Span, place: impl Fn(&Second) -> Option<(f64, f64)>) -> String {
    let bar = |second: &Second| {
        let (top, bottom) = place(second)?;
        let (left, right) = (x.place(second.from_s), x.place(second.to_s));
        let width = svg::short((right - left).max(0.05) * 0.96);
        let height = svg::short(bottom - top);
        (bottom > top).then(|| {
            format!("M{} {}h{width}v{height}h-{width}z", svg::short(left), svg::short(top))
        })
    };
    found.iter().filter_map(bar).collect()
}

fn rates(found: &Timeline, x: &Span) -> Markup {
    let y = Span { low: 0.0, high: 1.5, from: RATE, to: 0.0, is_log: false };
    let at = |second: &Second, in_window: bool| {
        let middle = y
            .place(second.throughput.filter(|_| second.in_window == in_window)?)
            .clamp(1.5, RATE - 1.5);
        Some((middle - 1.5, middle + 1.5))
    };
    html! {
        svg width="100%" height=(svg::px(RATE)) role="img"
            aria-label={ (found.words.throughput[0]) " " (found.words.throughput[1]) } {
            rect width="100%" height=(svg::px(RATE)) class="ground" {}
            (rule((0.0, y.place(1.0)), (100.0, y.place(1.0)), "axis"))
            (stretched(&bars(&found.seconds, x, |second| at(second, false)), RATE, "area iowait"))
            (stretched(&bars(&found.seconds, x, |second| at(second, true)), RATE, "area main"))
            text x="4" y=(svg::px(y.place(1.0) - 4.0)) { "100 %" }
        }
    }
}

fn cpu_track(found: &Timeline, x: &Span) -> Markup {
    let y = Span { low: 0.0, high: 100.0, from: CPU, to: 0.0, is_log: false };
    let at = |second: &Second, class: &str| {
        let part = stack(second.cpu.as_ref()?).into_iter().find(|part| part.class == class)?;
        Some((y.place(part.to), y.place(part.from)))
    };
    html! {
        svg.cpu width="100%" height=(svg::px(CPU)) role="img"
            aria-label={ (found.words.cpu[0]) " " (found.words.cpu[1]) } {
            rect width="100%" height=(svg::px(CPU)) class="ground" {}
            @for class in ["own", "iowait", "foreign", "steal"] {
                (stretched(
                    &bars(&found.seconds, x, |second| at(second, class)),
                    CPU,
                    &format!("area {class}"),
                ))
            }
            @for badge in badges(found, x) {
                @let half = if badge.first == badge.last { 9 } else { 17 };
                g.number { title { (badge.note) }
                    svg.over x=(svg::pct(badge.middle())) y="10" {
                        rect x=(-half) y="-9" width=(2 * half) height="18" rx="9" {}
                        text.m y="4" { (badge.label()) }
                    }
                }
            }
        }
    }
}

/// The number of a disturbed test, or those of several that would cover one another.
#[derive(Debug, Clone, PartialEq)]
struct Badge {
    first: usize,
    last: usize,
    /// Places of its first and its last test, in per cent.
    from: f64,
    to: f64,
    note: String,
}

impl Badge {
    /// Width of a badge on the narrowest timeline, in per cent.
    fn width(&self) -> f64 {
        if self.first == self.last { 2.7 } else { 5.0 }
    }

    fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }

    fn label(&self) -> String {
        match self.last - self.first {
            0 => self.first.to_string(),
            _ => format!("{}–{}", self.first, self.last),
        }
    }
}

fn badges(found: &Timeline, x: &Span) -> Vec<Badge> {
    let mut badges: Vec<Badge> = Vec::new();
    for test in &found.tests {
        let Some(number) = test.number else { continue };
        let at = x.place(f64::midpoint(test.from_s, test.to_s));
        let note = test.note.clone();
        badges.push(Badge { first: number, last: number, from: at, to: at, note });
        // One that grows may reach the one before it.
        while let [.., before, last] = badges.as_slice() {
            if last.middle() - before.middle() >= f64::midpoint(before.width(), last.width()) {
                break;
            }
            let note = format!("{}; {}", before.note, last.note);
            let (first, from) = (before.first, before.from);
            let joined = Badge { first, from, note, ..last.clone() };
            badges.truncate(badges.len() - 2);
            badges.push(joined);
        }
    }
    badges
}

fn device(found: &Timeline, x: &Span, most: f64) -> Markup {
    let middle = DEVICE / 2.0;
    let size = |value: f64| (value / most).max(0.0).sqrt() * middle;
    html! {
        svg width="100%" height=(svg::px(DEVICE)) role="img"
            aria-label={ (found.words.device[0]) " " (found.words.device[1]) } {
            rect width="100%" height=(svg::px(DEVICE)) class="ground" {}
            (stretched(
                &bars(&found.seconds, x, |second| Some((middle - size(second.read_mb_s?), middle))),
                DEVICE,
                "area p2",
            ))
            (stretched(
                &bars(&found.seconds, x, |second| {
                    Some((middle, middle + size(second.write_mb_s?)))
                }),
                DEVICE,
                "area p4",
            ))
            (rule((0.0, middle), (100.0, middle), "axis"))
        }
    }
}

fn clock(x: &Span) -> Markup {
    const STEPS: [f64; 10] = [1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 14_400.0];
    let step = STEPS.into_iter().find(|step| x.high / step <= 14.0).unwrap_or(x.high / 10.0);
    let times = (0..).map(|number| step * f64::from(number)).take_while(|time| *time <= x.high);
    html! {
        svg width="100%" height="20" aria-hidden="true" { @for time in times {
            (rule((x.place(time), 0.0), (x.place(time), 4.0), "axis"))
            (text(
                x.place(time),
                17.0,
                if time == 0.0 { "" } else { "m" },
                &format!("{}:{:02}", (time / 60.0).floor(), (time % 60.0).round()),
            ))
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::TimelineTest;

    #[test]
    fn badges_do_not_cover_one_another_and_none_is_lost() {
        let test = |number: usize, at: f64| TimelineTest {
            from_s: at,
            to_s: at,
            number: Some(number),
            ..TimelineTest::default()
        };
        let places = [1.0, 2.0, 3.5, 30.0, 60.0, 61.0, 66.0];
        let tests = (1..).zip(places).map(|(number, at)| test(number, at)).collect();
        let found = Timeline { length_s: 100.0, tests, ..Timeline::default() };
        let x = Span { low: 0.0, high: 100.0, from: 0.0, to: 100.0, is_log: false };
        let badges = badges(&found, &x);
        let labels: Vec<String> = badges.iter().map(Badge::label).collect();
        assert_eq!(labels, ["1–3", "4", "5–6", "7"]);
        for pair in badges.windows(2) {
            let apart = pair[1].middle() - pair[0].middle();
            assert!(apart >= f64::midpoint(pair[0].width(), pair[1].width()), "{pair:?}");
        }
    }
}
