//! A designed page: the head with the answer and the verdicts, then parts of pictures with folded
//! tables.

use maud::{Markup, html};

use super::svg::{self, Shape, Span, mark, rule, sign, stretched, text};
use super::{block, chart, panels, ratios, table, timeline};
use crate::Language;
use crate::picture::{
    Card, Chip, Count, Fold, Head, Mark, Page, Part, Picture, Spark, StyledText, TickGroup, Times,
};

/// The content of the body.
pub(super) fn content(page: &Page, language: Language) -> Markup {
    html! {
        (svg::symbols())
        div.page.sheet[page.is_sheet].list[page.is_list] { "\n"
            (head(&page.head, "", language))
            @if !page.is_sheet { (contents(page, language)) }
            main { "\n"
                @for (part, number) in page.parts.iter().zip(1..) {
                    (self::part(part, number, language))
                }
            } "\n"
            (foot(language))
        } "\n"
    }
}

/// Program that made the page.
pub(super) fn foot(language: Language) -> Markup {
    html! {
        footer { p { (language.phrase("Made by dbdyno. One file, no network. A dash is unknown, \
                                       never 0.")) } } "\n"
    }
}

fn styled(parts: &[StyledText]) -> Markup {
    html! {
        @for part in parts { @if part.is_strong { strong { (part.text) } } @else { (part.text) } }
    }
}

/// The head of a page; `title` is that of a page whose head has none.
pub(super) fn head(head: &Head, title: &str, language: Language) -> Markup {
    let title = if head.title.is_empty() { title } else { &head.title };
    html! {
        header.head { "\n"
            p.bar { span { strong { "dbdyno" } " " (head.kind) } span { (head.stamp) } } "\n"
            div.lead { "\n"
                div {
                    h1 { (title) } "\n"
                    @if !head.answer.is_empty() { p.answer { (styled(&head.answer)) } "\n" }
                } "\n"
                (trust(head, language))
            } "\n"
            (shares(head))
            @for fold in &head.folds { (self::fold(fold)) }
            @if !head.plate.is_empty() {
                dl.plate { "\n"
                    @for (name, value) in &head.plate { div { dt { (name) } dd { (value) } } "\n" }
                } "\n"
            }
        } "\n"
    }
}

fn trust(head: &Head, language: Language) -> Markup {
    html! {
        @if !head.counts.is_empty() {
            div.trust role="group" aria-label=(language.phrase("Verdicts")) { "\n"
                ul.counts { @for count in &head.counts { (self::count(count)) } } "\n"
                @if !head.tests.is_empty() {
                    div.strip { @for group in &head.tests { (strip(group)) } } "\n"
                }
            } "\n"
        }
    }
}

fn count(count: &Count) -> Markup {
    html! {
        li class=(svg::name(count.mark)) {
            span.of { (sign(count.mark, "")) strong { (count.count) } } " "
            span { (count.word) }
        }
    }
}

fn strip(group: &TickGroup) -> Markup {
    html! {
        div.ticks {
            span.marks {
                @for tick in &group.ticks {
                    span class={ "tick " (svg::name(tick.mark)) } title=(tick.note) {
                        (sign(tick.mark, &tick.note))
                    }
                }
            }
            span { (group.name) }
        }
    }
}

/// Parts of a whole as one bar, with its legend.
fn shares(head: &Head) -> Markup {
    let all: usize = head.shares.iter().map(|share| share.count).sum();
    let width = |count: usize| 100.0 * count as f64 / all.max(1) as f64;
    let starts = head.shares.iter().scan(0.0, |at, share| {
        let from = *at;
        *at += width(share.count);
        Some(from)
    });
    html! {
        @if all > 0 {
            svg.shares width="100%" height="14" aria-hidden="true" {
                @for (share, from) in head.shares.iter().zip(starts) {
                    rect x=(svg::pct(from)) width=(svg::pct(width(share.count))) height="14"
                        class={ "area " (svg::tone(share.tone)) } {}
                }
            }
            ul.legend { @for share in &head.shares {
                li {
                    i class={ "box " (svg::tone(share.tone)) } {}
                    strong { (share.count) } " " (share.word)
                }
            } } "\n"
        }
    }
}

fn contents(page: &Page, language: Language) -> Markup {
    html! {
        nav aria-label=(language.phrase("Contents")) { ul { "\n"
            @for (part, number) in page.parts.iter().zip(1..) {
                @if !part.title.is_empty() { li { a href={ "#s" (number) } { (part.title) } } "\n" }
            }
        } } "\n"
    }
}

fn part(part: &Part, number: usize, language: Language) -> Markup {
    html! {
        section id={ "s" (number) } { "\n"
            @if !part.title.is_empty() { h2 { (part.title) } "\n" }
            @if !part.about.is_empty() { p.about { (part.about) } "\n" }
            @for picture in &part.pictures { (self::picture(picture, language)) }
            @for fold in &part.folds { (self::fold(fold)) }
        } "\n"
    }
}

fn picture(picture: &Picture, language: Language) -> Markup {
    match picture {
        Picture::Cards(cards) => {
            html! { div.cards { "\n" @for card in cards { (self::card(card, language)) } } "\n" }
        }
        Picture::Ratios(ratios) => ratios::ratios(ratios, language),
        Picture::Panels(panels) => panels::panels(panels, language),
        Picture::Timeline(line) => timeline::timeline(line, language),
        Picture::Heatmap(map) => table::heatmap(map),
        Picture::Charts(charts) => {
            html! { div.charts { "\n" @for chart in charts { (chart::figure(chart)) } } "\n" }
        }
        Picture::Lines(lines) => html! {
            dl.lines { "\n"
                @for (name, texts) in lines {
                    div { dt { (name) } @for text in texts { dd { (text) } } } "\n"
                }
            } "\n"
        },
        Picture::Blocks(blocks) => html! { @for part in blocks { (block(part)) } },
    }
}

fn fold(fold: &Fold) -> Markup {
    html! {
        details.fold open[fold.is_open] {
            summary { (fold.title) } "\n"
            @for part in &fold.blocks { (block(part)) }
        } "\n"
    }
}

fn card(card: &Card, language: Language) -> Markup {
    html! {
        article.card { "\n"
            div.top {
                h3 { (card.group) @if !card.title.is_empty() { " " span { (card.title) } } }
                (verdict(card.mark, &card.verdict))
            } "\n"
            p.what { strong { (card.label) } " " (card.about) } "\n"
            p.big {
                strong {
                    (card.value)
                    @if !card.suffix.is_empty() { i { "\u{202f}" (card.suffix) } }
                } " "
                span { (card.unit) }
            } "\n"
            p.pair { (styled(&card.pair)) } "\n"
            @if let Some(found) = &card.spark { (spark(found, language)) }
            @if !card.times.is_empty() { (times(card)) }
            @if !card.chips.is_empty() {
                p.chips { @for chip in &card.chips { (self::chip(chip)) " " } } "\n"
            }
            @if !card.others.is_empty() { ul.others { @for other in &card.others {
                li {
                    span.label { (other.label) }
                    span.value { (other.value) " " span.soft { (other.unit) } }
                    (sign(other.mark, &other.verdict))
                }
            } } "\n" }
        } "\n"
    }
}

/// Sign and word.
pub(super) fn verdict(mark: Mark, word: &str) -> Markup {
    html! { span class={ "verdict " (svg::name(mark)) } { (sign(mark, "")) (word) } }
}

fn chip(chip: &Chip) -> Markup {
    let class = if chip.is_warning {
        "chip warning"
    } else if chip.is_limit {
        "chip limit"
    } else {
        "chip"
    };
    html! { span class=(class) { (chip.text) } }
}

/// Height of a ramp in small, and of its drawing.
const SPARK: f64 = 92.0;
const SPARK_TOP: f64 = 8.0;
const SPARK_BOTTOM: f64 = 68.0;

fn spark(spark: &Spark, language: Language) -> Markup {
    let jobs = || spark.points.iter().map(|point| point.jobs);
    let most = spark.points.iter().map(|point| point.value).fold(0.0, f64::max);
    let (least_jobs, most_jobs) = (jobs().fold(f64::MAX, f64::min), jobs().fold(1.0, f64::max));
    let x = Span { low: least_jobs, high: most_jobs, from: 5.0, to: 95.0, is_log: true };
    let y = Span { low: 0.0, high: most, from: SPARK_BOTTOM, to: SPARK_TOP, is_log: false };
    let accepted: Vec<(f64, f64)> = spark
        .points
        .iter()
        .filter(|point| point.mark != Mark::Invalid)
        .map(|point| (x.place(point.jobs), y.place(point.value)))
        .collect();
    // Perfect scaling: as far as it stays inside the drawing.
    let perfect = spark.one_job.filter(|one| *one > 0.0).map(|one| {
        let end = (most / one).min(most_jobs).max(1.0);
        let at = |step: u32| 1.0 * end.powf(f64::from(step) / 16.0);
        (0..=16).map(|step| (x.place(at(step)), y.place(at(step) * one))).collect::<Vec<_>>()
    });
    html! {
        svg.spark width="100%" height=(svg::px(SPARK)) role="img" aria-label=(spark.spoken) { "\n"
            (rule((0.0, SPARK_BOTTOM + 6.0), (100.0, SPARK_BOTTOM + 6.0), "axis"))
            @if let Some(perfect) = perfect { (stretched(&svg::path(&perfect), SPARK, "perfect")) }
            @if let Some((knee, name)) = &spark.knee {
                (rule((x.place(*knee), SPARK_TOP), (x.place(*knee), SPARK_BOTTOM + 6.0), "knee"))
                (text(x.place(*knee) - 1.5, SPARK_BOTTOM, "e", name))
            }
            (stretched(&svg::path(&accepted), SPARK, "curve main"))
            @for point in &spark.points {
                @let class = if point.mark == Mark::Invalid { "bad" } else { "main" };
                @let (at, height) = (x.place(point.jobs), y.place(point.value));
                (mark(at, height, Shape::Figure(point.mark), class, ""))
                @if point.is_best { (mark(at, height, Shape::Ring, class, "")) }
            }
            @for jobs in shown_jobs(spark) {
                (text(x.place(jobs), SPARK - 4.0, "m", &svg::tick(language, jobs)))
            }
        } "\n"
    }
}

/// Numbers of jobs that have room below a drawing.
fn shown_jobs(spark: &Spark) -> Vec<f64> {
    let step = spark.points.len().div_ceil(6);
    let last = spark.points.len().saturating_sub(1);
    let is_shown = |number: &usize| {
        *number == last || (number.is_multiple_of(step) && last - number >= step.div_ceil(2))
    };
    (0..spark.points.len()).filter(is_shown).map(|number| spark.points[number].jobs).collect()
}

/// Service times: figures, and where they are on the common axis from 1 us to 10 s.
fn times(card: &Card) -> Markup {
    let x = Span { low: 1.0, high: 1e7, from: 0.0, to: 100.0, is_log: true };
    html! {
        table.times {
            thead {
                tr {
                    th scope="col" { (card.times_head) }
                    @for name in ["p50", "p95", "p99"] { th.number scope="col" { (name) } }
                }
            }
            tbody { @for times in &card.times {
                tr {
                    th scope="row" { (times.name) }
                    @if times.mean_shown.is_empty() {
                        @for shown in &times.shown { td.number { (shown) } }
                    }
                    @else { td.number colspan="3" { (times.mean_shown) } }
                }
                tr.drawn aria-hidden="true" { td colspan="4" { (times_drawn(times, &x)) } }
            } }
        }
        svg.scale width="100%" height="14" aria-hidden="true" {
            @for (us, name, class) in [(1.0, "1 µs", ""), (1e3, "1 ms", "m"), (1e6, "1 s", "m")] {
                (text(x.place(us), 11.0, class, name))
            }
        }
    }
}

fn times_drawn(times: &Times, x: &Span) -> Markup {
    let known: Vec<f64> = times.percentiles_us.iter().flatten().map(|us| x.place(*us)).collect();
    html! {
        svg width="100%" height="12" {
            (rule((0.0, 6.0), (100.0, 6.0), "grid"))
            @for decade in 0..8 {
                @let place = x.place(10_f64.powi(decade));
                (rule((place, 4.0), (place, 8.0), "axis"))
            }
            @if let (Some(first), Some(last)) = (known.first(), known.last()) {
                @let width = svg::pct((last - first).max(0.4));
                rect x=(svg::pct(*first)) y="3.5" width=(width) height="5" class="area light" {}
                @for place in &known { (rule((*place, 2.0), (*place, 10.0), "tick main")) }
                (rule((*first, 0.0), (*first, 12.0), "thick main"))
            }
            @if let Some(mean) = times.mean_us {
                (mark(x.place(mean), 6.0, Shape::Mean, "main", ""))
            }
        }
    }
}
