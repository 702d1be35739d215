//! View of the monitor: on a terminal a screen, else lines.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};

use super::live_table::{number, shortened, time};
use crate::error::visible;
use crate::model::Status;
use crate::monitor::against::Covered;
use crate::monitor::observer::{Look, Statement};
use crate::monitor::rates::Rate;

/// Width of a full bar.
const BAR: usize = 20;
/// Columns of the rates.
const HEADS: [&str; 6] = ["KPM", "now", "peak", "measured", "used", ""];

/// Column of the peak.
const PEAK: usize = 2;

/// Title above the figures.
#[derive(Debug, Clone, Default)]
pub struct Title {
    pub target: String,
    /// Time of a single look, if it is one of now.
    pub at: Option<String>,
    /// The run that the rates are shares of.
    pub against: Option<String>,
    /// Help for the keys.
    pub keys: &'static str,
}

/// The cells of a rate: name with unit, now, peak, what was measured, how much of it is used, a
/// bar.
pub fn cells(rate: &Rate, is_compared: bool) -> [String; 6] {
    let name = format!("{} {}", rate.title, rate.unit);
    let (measured, used, bar) = match &rate.against {
        Some(covered) => (number(covered.measured), share(covered), bar(covered.used)),
        None if is_compared => ("-".into(), "unknown".into(), String::new()),
        None => Default::default(),
    };
    [name, number(rate.now), number(rate.peak), measured, used, bar]
}

/// A share of what was measured, with `?` if that is conditional.
fn share(covered: &Covered) -> String {
    let mark = if covered.status == Status::Valid { "" } else { " ?" };
    format!("{:.0} %{mark}", covered.used * 100.0)
}

fn bar(used: f64) -> String {
    let full = (used.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "#".repeat(full) + &".".repeat(BAR - full)
}

/// Component that saturates first as the load grows; none if the load is compared with nothing.
pub fn limit(look: &Look) -> Option<String> {
    let Some(limit) = &look.limit else {
        let mut covered = look.rates.iter().filter_map(|rate| rate.against.as_ref());
        let is_doubtful =
            covered.clone().next().is_some() && covered.all(|rate| rate.status != Status::Valid);
        return is_doubtful.then(|| "limit: unknown, no valid figure covers a rate".into());
    };
    let used = limit.used * 100.0;
    Some(format!(
        "limit: {} at {:.1} x this load ({used:.0} % used)",
        limit.component, limit.at_times
    ))
}

/// Wait events of the sessions.
pub fn waits(look: &Look) -> Option<String> {
    let sessions = look.sessions?;
    let wait = |wait: &crate::monitor::observer::Wait| {
        let same = wait.event.is_empty() || wait.event == wait.class;
        let name = if same { wait.class.clone() } else { format!("{} {}", wait.class, wait.event) };
        format!("{} {:.0} %", visible(&name), wait.share * 100.0)
    };
    let waits: Vec<String> = look.waits.iter().map(wait).collect();
    let what = if waits.is_empty() { "nothing".into() } else { waits.join(" | ") };
    Some(format!("{sessions:.1} sessions at work: {what}"))
}

/// A statement in one line.
fn statement(statement: &Statement) -> String {
    let known = |value: Option<f64>| value.map_or("-".into(), number);
    let (calls, mean) = (known(statement.calls_per_s), known(statement.mean_ms));
    format!("{calls:>9}/s {mean:>9} ms  {}", visible(&statement.text))
}

/// Cost of polling.
pub fn cost(look: &Look) -> String {
    let cpu = look
        .cost
        .own_cpu
        .map_or("unknown".into(), |share| format!("{:.1} % of one CPU", share * 100.0));
    format!("this monitor: {cpu} here, {:.0} queries/s (in the rates)", look.cost.queries_per_s)
}

/// Everything below the rates.
fn notes(look: &Look) -> Vec<String> {
    let mut lines: Vec<String> = limit(look).into_iter().chain(waits(look)).collect();
    lines.extend(look.statements.iter().map(statement));
    lines.push(cost(look));
    lines.extend(look.missing.iter().map(|what| format!("not seen: {}", visible(what))));
    lines
}

/// All of it as text, for a single look: whose it is, the rates and the notes. The first look has
/// no peak beside itself.
pub fn whole(title: &Title, look: &Look) -> String {
    let compared = title.against.is_some();
    let has_peak = look.rates.iter().any(|rate| rate.peak > rate.now);
    let columns = if compared { 5 } else { 3 };
    let is_shown = |at: &usize| *at < columns && (*at != PEAK || has_peak);
    let shown: Vec<usize> = (0..HEADS.len()).filter(is_shown).collect();
    let heads: Vec<&str> = shown.iter().map(|at| HEADS[*at]).collect();
    let mut table = super::out::Table::new(&heads);
    for rate in &look.rates {
        let cells = cells(rate, compared);
        table.row(shown.iter().map(|at| cells[*at].clone()));
    }
    head_line(title, look) + &table.render(None) + &notes(look).join("\n") + "\n"
}

/// The target, the time and the length of a look, and the run that it is compared with.
fn head_line(title: &Title, look: &Look) -> String {
    let at = title.at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
    let against =
        title.against.as_ref().map_or(String::new(), |run| format!(", against {}", visible(run)));
    let target = visible(&title.target);
    format!("{target}{at}, over {:.1} s{against}\n", look.interval_s)
}

/// One line of an interval.
pub fn line(look: &Look) -> String {
    let rate = |rate: &Rate| {
        let used =
            rate.against.as_ref().map_or(String::new(), |covered| format!(" ({})", share(covered)));
        format!("{} {} {}{used}", rate.title, number(rate.now), rate.unit)
    };
    let rates: Vec<String> = look.rates.iter().map(rate).chain(limit(look)).collect();
    format!("{}  {}", time(look.t_s), rates.join(" | "))
}

/// Draws a look on the whole screen.
pub fn draw(frame: &mut Frame<'_>, title: &Title, look: &Look) {
    let against =
        title.against.as_ref().map_or(String::new(), |run| format!(", against {}", visible(run)));
    let head = format!(" {} after {}{against} ", visible(&title.target), time(look.t_s));
    let outer = Block::bordered().title(head).title_bottom(format!(" {} ", title.keys));
    let inside = outer.inner(frame.area());
    frame.render_widget(outer, frame.area());
    let rows = look.rates.len() as u16 + 2;
    let [above, below] =
        Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(inside);
    frame.render_widget(rates(look, title.against.is_some()), above);
    let width = usize::from(below.width);
    let lines: Vec<Line<'_>> =
        notes(look).iter().map(|line| Line::from(shortened(line, width))).collect();
    frame.render_widget(Paragraph::new(lines), below);
}

/// The table of the rates; that of the limit stands out.
fn rates(look: &Look, is_compared: bool) -> Table<'static> {
    let most = look.limit.as_ref().map(|limit| limit.used);
    let row = |rate: &Rate| {
        let is_limit = most.is_some() && rate.against.as_ref().map(|covered| covered.used) == most;
        let style = if is_limit { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let right = |(at, text): (usize, String)| {
            let line = Line::from(text);
            Cell::from(if (1..5).contains(&at) { line.right_aligned() } else { line })
        };
        Row::new(cells(rate, is_compared).into_iter().enumerate().map(right)).style(style)
    };
    let widths = [22, 10, 10, 10, 9, BAR as u16].map(Constraint::Length);
    let heads = HEADS.iter().take(if is_compared { 6 } else { 3 }).enumerate().map(|(at, head)| {
        let line = Line::from(*head);
        if (1..5).contains(&at) { line.right_aligned() } else { line }
    });
    let head = Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED));
    Table::new(look.rates.iter().map(row).collect::<Vec<_>>(), widths).header(head)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::monitor::against::Limit;
    use crate::monitor::observer::{Cost, Wait};

    fn covered(used: f64, status: Status) -> Option<Covered> {
        Some(Covered {
            measured: 3900.0,
            workload: "Q".into(),
            jobs: 4,
            status,
            used,
            half_width: None,
        })
    }

    fn look() -> Look {
        let rate = |title, now, against| Rate {
            id: "x",
            title,
            unit: "tps",
            now,
            peak: 2.0 * now,
            against,
        };
        Look {
            t_s: 65.0,
            interval_s: 1.0,
            rates: vec![
                rate("Commits", 1020.0, covered(0.26, Status::Valid)),
                rate("Reads", 5.0, covered(0.5, Status::Conditional)),
                rate("Log syncs", 7.0, None),
            ],
            limit: Some(Limit { component: "log writer", used: 0.26, at_times: 1.0 / 0.26 }),
            sessions: Some(2.3),
            waits: vec![Wait { class: "IO".into(), event: "WALSync".into(), share: 0.6 }],
            statements: vec![Statement {
                text: "select \u{1b}[2J".into(),
                calls_per_s: Some(12.0),
                mean_ms: None,
            }],
            cost: Cost { own_cpu: Some(0.002), queries_per_s: 9.0, reading_ms: 1.0 },
            missing: vec!["row locks".into()],
            ..Look::default()
        }
    }

    fn title() -> Title {
        let (target, against) = ("any://db".into(), Some("run 7".into()));
        Title { target, against, at: None, keys: "q ends" }
    }

    fn screen(width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &title(), &look())).unwrap();
        let cells = terminal.backend().buffer().content.chunks(usize::from(width));
        cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
    }

    #[test]
    fn eighty_columns_hold_everything() {
        let shown = screen(80, 20);
        for text in [
            " any://db after 1:05, against run 7 ",
            "Commits tps         1,020      2,040      3,900      26 % #####",
            "50 % ?",
            "unknown",
            "limit: log writer at 3.8 x this load (26 % used)",
            "2.3 sessions at work: IO WALSync 60 %",
            "12.0/s",
            "this monitor: 0.2 % of one CPU here, 9 queries/s",
            "not seen: row locks",
            " q ends ",
        ] {
            assert!(shown.contains(text), "{text}:\n{shown}");
        }
        assert!(!shown.chars().any(|c| c == '\u{1b}'), "{shown}");
    }

    #[test]
    fn a_small_terminal_shows_what_fits() {
        for (width, height) in [(20, 3), (1, 1), (40, 8)] {
            assert_eq!(screen(width, height).lines().count(), usize::from(height));
        }
    }

    #[test]
    fn without_a_terminal_a_look_is_text_and_an_interval_a_line() {
        let text = whole(&title(), &look());
        assert!(
            text.starts_with("any://db, over 1.0 s, against run 7\nKPM ")
                && text.contains("Commits tps")
                && text.contains("26 %")
                && text.contains("peak"),
            "{text}"
        );
        let first = look().rates.into_iter().map(|rate| Rate { peak: rate.now, ..rate });
        let first = Look { rates: first.collect(), ..look() };
        let text = whole(&Title { at: Some("noon".into()), ..title() }, &first);
        assert!(text.starts_with("any://db at noon, over") && !text.contains("peak"), "{text}");
        let alone = Look {
            rates: look().rates.into_iter().map(|rate| Rate { against: None, ..rate }).collect(),
            ..look()
        };
        let text = whole(&Title { against: None, ..title() }, &alone);
        assert!(!text.contains("unknown") && !text.contains("measured"), "{text}");
        let doubtful = Look { rates: look().rates.drain(1..).collect(), limit: None, ..look() };
        assert_eq!(
            limit(&doubtful).as_deref(),
            Some("limit: unknown, no valid figure covers a rate")
        );
        assert_eq!(limit(&Look { rates: Vec::new(), ..doubtful }), None);
        let line = line(&look());
        assert!(
            line.starts_with("1:05  Commits 1,020 tps (26 %) | Reads 5.00 tps (50 % ?) | "),
            "{line}"
        );
        assert!(
            line.ends_with("limit: log writer at 3.8 x this load (26 % used)")
                && !line.contains('\n')
        );
    }
}
