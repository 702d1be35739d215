//! The table of platforms for a browser: every figure as markup, so that it is all there without
//! scripts; what a script needs to hide, order, rank and color stands in attributes. A figure that
//! is not accepted has no number in them: nothing can be ranked or colored by it.

use maud::{Markup, html};

use super::svg::{name, sign};
use super::wide;
use crate::Language;
use crate::board::{Board, FigureText, Part, Platform, Row};
use crate::picture::Mark;
use dbdyno_core::error::visible;
use dbdyno_core::model::Better;

/// Address of the page of a run (`None`), or of a test of it.
pub type Address<'a> = &'a dyn Fn(i64, Option<u32>) -> Option<String>;

const ABOUT: &str = "Tick the platforms that you want to see side by side. Every figure has its \
                     verdict and leads to the page of its test, every platform to its disclosure. \
                     Only valid figures are colored, ranked and averaged; conditional and invalid \
                     ones stand there with their mark.";
const HOW: &str = "The best valid figure of a row has the strongest color, in between the color is \
                   the share of the best (best / figure where lower is better). * the best of the \
                   row; ~ does not differ from the best beyond the noise of both (95 % intervals). \
                   Figures of other work (another drive or revision, data of another size, a \
                   publication beside a measurement) have no color.";
const WITHOUT_SCRIPT: &str =
    "Without scripts all platforms are shown, and nothing is ranked or colored.";
/// Texts of the script, by the name of the attribute.
const SAID: [(&str, &str); 3] = [
    (
        "counted",
        "{metric}: means over {rows} of {all} rows, those in which every ticked platform has a \
         valid figure of the same work; the others are left out.",
    ),
    (
        "nothing",
        "{metric}: no row in which every ticked platform has a valid figure of the same work, so \
         there is no mean.",
    ),
    ("few", "Tick two platforms or more to compare them."),
];

/// The content of the page.
pub fn board(board: &Board, language: Language, address: Address<'_>) -> Markup {
    let said = |name: &str| {
        let text = SAID.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
        language.phrase(text)
    };
    html! {
        (super::svg::symbols())
        div.page { main.board data-board="" data-counted=(said("counted"))
            data-nothing=(said("nothing")) data-few=(said("few")) { "\n"
            h1 { (language.phrase("Platforms side by side")) } "\n"
            p.about { (language.phrase(ABOUT)) } "\n"
            noscript { p.about { (language.phrase(WITHOUT_SCRIPT)) } } "\n"
            (controls(board, language)) "\n"
            (platforms(board, language, address)) "\n"
            @for part in &board.parts { p.said role="status" data-said=(part.metric) {} "\n" }
            @for part in board.parts.iter().filter(|part| !part.rows.is_empty()) {
                (figures(board, part, language, address)) "\n"
            }
        } } "\n"
    }
}

fn controls(board: &Board, language: Language) -> Markup {
    let unique = |mut words: Vec<&str>| {
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let rows = board.parts.iter().flat_map(|part| &part.rows);
    let groups = unique(rows.map(|row| row.group.as_str()).collect());
    let engines = unique(board.platforms.iter().map(|it| it.engine.as_str()).collect());
    html! {
        form.filters.scripted { "\n"
            label { span { (language.phrase("Workloads")) }
                select name="group" {
                    option value="" { (language.phrase("all groups")) }
                    @for group in &groups { option value=(visible(group)) { (visible(group)) } }
                }
            } "\n"
            span.choices role="group" aria-label=(language.phrase("Tick")) {
                button type="button" data-tick="usual" { (language.phrase("usual")) } " "
                button type="button" data-tick="all" { (language.phrase("all")) } " "
                button type="button" data-tick="none" { (language.phrase("none")) } " "
                @for engine in &engines {
                    button type="button" data-tick="engine" data-engine=(visible(engine)) {
                        (visible(engine))
                    } " "
                }
            } "\n"
            a data-here="" href="#" { (language.phrase("Link to this choice")) } "\n"
        }
    }
}

fn platforms(board: &Board, language: Language, address: Address<'_>) -> Markup {
    let plain = [("", "Verdicts"), ("engine", "Engine"), ("what", "Disclosed as"), ("day", "Date")];
    let means = board.parts.iter().filter(|part| !part.rows.is_empty());
    let means: Vec<&Part> = means.collect();
    let table = html! {
        table.platforms { "\n"
            thead { tr {
                th.scripted scope="col" { (language.phrase("Tick")) }
                th scope="col" data-order="name" { (language.phrase("Platform")) }
                @for part in &means {
                    th.scripted.number scope="col" data-order=(part.metric) {
                        (part.title)
                        span.unit { (language.phrase("mean share of the best")) }
                    }
                }
                @for (order, head) in plain {
                    th scope="col" data-order=[(!order.is_empty()).then_some(order)] {
                        (language.phrase(head))
                    }
                }
            } } "\n"
            tbody {
                @for platform in &board.platforms {
                    (self::platform(platform, &means, language, address)) "\n"
                }
            }
        }
    };
    wide(&language.phrase("Platforms side by side"), &table)
}

fn platform(
    platform: &Platform,
    means: &[&Part],
    language: Language,
    address: Address<'_>,
) -> Markup {
    let tick = language.say("show {platform}", &[("platform", &visible(&platform.name))]);
    let [valid, conditional, invalid] = platform.verdicts;
    html! {
        tr data-run=(platform.run) data-engine=(visible(&platform.engine)) {
            td.scripted {
                input type="checkbox" name="platform" value=(platform.run)
                    checked[platform.is_usual] aria-label=(tick);
            }
            th scope="row" data-name="" {
                a href=[address(platform.run, None)] { (visible(&platform.name)) }
            }
            @for part in means { td.number.scripted data-mean=(part.metric) {} }
            td {
                (verdict_count(valid, Mark::Valid, &language.phrase("valid")))
                (verdict_count(conditional, Mark::Conditional, &language.phrase("conditional")))
                (verdict_count(invalid, Mark::Invalid, &language.phrase("invalid")))
            }
            td data-engine="" { (visible(&platform.engine)) }
            td.text { span data-what="" { (visible(&platform.what)) }
                details.fold { summary { (language.phrase("Disclosure")) }
                    dl {
                        @for (fact, value) in &platform.facts {
                            dt { (visible(fact)) }
                            dd { (visible(value)) }
                        }
                    }
                }
            }
            td data-day="" { (visible(&platform.day)) }
        }
    }
}

fn figures(board: &Board, part: &Part, language: Language, address: Address<'_>) -> Markup {
    let table = html! {
        table.heatmap.figures data-metric=(part.metric) data-title=(part.title) { "\n"
            thead { tr {
                th scope="col" { (language.phrase("Workload")) }
                th scope="col" { (language.phrase("Unit")) }
                @for platform in &board.platforms {
                    th.number scope="col" data-run=(platform.run) {
                        span data-head="" { (visible(&platform.name)) }
                        span.unit { (visible(&platform.what)) }
                    }
                }
            } } "\n"
            tbody { @for row in &part.rows { (self::row(board, row, language, address)) "\n" } }
        }
    };
    html! {
        section id=(part.metric) { "\n"
            h2 { (part.title) } "\n"
            p.about { (language.phrase(HOW)) } "\n"
            (wide(&part.title, &table))
        }
    }
}

fn row(board: &Board, row: &Row, language: Language, address: Address<'_>) -> Markup {
    let lower = (row.better == Better::Lower).then_some("lower");
    html! {
        tr data-group=(visible(&row.group)) data-better=[lower] {
            th scope="row" { (visible(&row.label)) }
            td {
                (visible(&row.unit))
                @if lower.is_some() { span.unit { (language.phrase("less is better")) } }
            }
            @for (platform, figure) in board.platforms.iter().zip(&row.figures) {
                @match figure {
                    Some(figure) => (self::figure(platform.run, figure, address)),
                    None => td.number.unknown data-run=(platform.run) { "-" },
                }
            }
        }
    }
}

fn figure(run: i64, figure: &FigureText, address: Address<'_>) -> Markup {
    let class = match figure.mark {
        Mark::Valid => "",
        Mark::Conditional | Mark::Disturbed => " conditional",
        Mark::Invalid => " hatched",
    };
    let is_bound = figure.is_bound && !figure.is_accepted;
    let value = figure.is_accepted.then(|| figure.value.to_string());
    let half = figure.half.filter(|_| figure.is_accepted).map(|half| half.to_string());
    let note = if figure.reasons.is_empty() {
        figure.verdict.clone()
    } else {
        format!("{}: {}", figure.verdict, figure.reasons)
    };
    html! {
        td class={ "number" (class) } data-run=(run) data-work=(figure.work)
            data-value=[value] data-half=[half] data-printed=[figure.is_printed.then_some("")]
            data-bound=[is_bound.then(|| figure.value.to_string())]
            data-mark=(name(figure.mark)) title=(visible(&note)) {
            a href=[address(run, Some(figure.test))] { (visible(&figure.text)) }
            (sign(figure.mark, &figure.verdict))
            span.unit { (visible(&figure.how)) }
        }
    }
}

/// Number of tests with a verdict; nothing if there are none.
fn verdict_count(count: usize, mark: Mark, word: &str) -> Markup {
    html! { @if count > 0 { span.verdict { (sign(mark, word)) (count) } " " } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mark: Mark, is_accepted: bool) -> FigureText {
        FigureText {
            test: 7,
            text: "10.5".into(),
            value: 10.5,
            how: "2 jobs".into(),
            mark,
            verdict: "a <word>".into(),
            is_accepted,
            half: Some(0.02),
            is_printed: false,
            is_bound: false,
            work: "client-measured-1".into(),
            reasons: "because".into(),
        }
    }

    #[test]
    fn what_is_not_accepted_has_no_number_that_a_script_could_use() {
        let markup = |mark, is_accepted| {
            let figure = shown(mark, is_accepted);
            super::figure(3, &figure, &|run, test| Some(format!("{run}-{test:?}"))).into_string()
        };
        let valid = markup(Mark::Valid, true);
        assert!(valid.contains("data-value=\"10.5\" data-half=\"0.02\""), "{valid}");
        for mark in [Mark::Conditional, Mark::Invalid, Mark::Disturbed] {
            let other = markup(mark, false);
            assert!(!other.contains("data-value") && !other.contains("data-half"), "{other}");
            assert!(other.contains("a &lt;word&gt;: because") && other.contains("3-Some(7)"));
        }
    }
}
