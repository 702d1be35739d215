//! View of the monitor: on a terminal a screen, else lines.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};

use super::live_table::{number, shorten, time};
use crate::analysis::cpu;
use crate::error::visible;
use crate::model::Status;
use crate::monitor::baseline::{Coverage, doubtful_limit};
use crate::monitor::poller::{IntervalSample, Statement};
use crate::monitor::rates::{CPU, Rate};

/// Width of a full bar where there is room for it.
const BAR: usize = 20;
/// Columns of the rates.
const HEADS: [&str; 6] = ["KPM", "now", "peak", "measured", "used", ""];
/// Widths of the columns of figures.
const WIDTHS: [u16; 4] = [9, 9, 9, 7];
/// Seconds of the course beside a rate.
const HISTORY_S: f64 = 60.0;
/// Head of the column of courses.
const COURSE: &str = "last 60 s";
/// Eighths of a full step of a course.
const STEPS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];
/// Processors that are busy for this share of their time are what the load waits for, in percent.
const BUSY_PCT: f64 = 90.0;

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
        Some(covered) => (number(covered.measured), share(covered), bar(covered.used, BAR)),
        None if is_compared => ("-".into(), "unknown".into(), String::new()),
        None => Default::default(),
    };
    [name, number(rate.now), number(rate.peak), measured, used, bar]
}

/// A share of what was measured, with `?` if that is conditional. A load beyond all that was
/// measured has no share.
fn share(covered: &Coverage) -> String {
    let mark = if covered.status == Status::Valid { "" } else { " ?" };
    if covered.used > 1.0 {
        return format!("above{mark}");
    }
    format!("{:.0} %{mark}", covered.used * 100.0)
}

fn bar(used: f64, width: usize) -> String {
    let full = (used.clamp(0.0, 1.0) * width as f64).round() as usize;
    "#".repeat(full) + &".".repeat(width - full)
}

/// The rates of the last seconds.
#[derive(Debug, Clone, Default)]
pub struct RateHistory {
    looks: VecDeque<(f64, Vec<Rate>)>,
}

impl RateHistory {
    /// Adds a look and forgets those that are too old.
    pub fn add(&mut self, look: &IntervalSample) {
        self.looks.push_back((look.t_s, look.rates.clone()));
        let begin_s = look.t_s - HISTORY_S;
        self.looks.retain(|(t_s, _)| *t_s > begin_s);
    }

    /// A rate over the last seconds as `width` steps, each relative to the highest of them; a blank
    /// where there was no look.
    fn line(&self, id: &str, width: usize) -> String {
        let Some((now_s, _)) = self.looks.back() else { return String::new() };
        let step_s = HISTORY_S / width.max(1) as f64;
        let mut sums = vec![(0.0, 0_u32); width];
        for (t_s, rates) in &self.looks {
            let Some(rate) = rates.iter().find(|rate| rate.id == id) else { continue };
            let back = ((now_s - t_s) / step_s) as usize;
            if let Some((sum, looks)) = width.checked_sub(back + 1).and_then(|at| sums.get_mut(at))
            {
                *sum += rate.now;
                *looks += 1;
            }
        }
        let means = sums.iter().map(|(sum, looks)| (*looks > 0).then(|| sum / f64::from(*looks)));
        let means: Vec<Option<f64>> = means.collect();
        let highest = means.iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
        let step = |mean: Option<f64>| match mean {
            None => ' ',
            Some(mean) if highest > 0.0 => {
                STEPS[((mean / highest * 7.0).round() as usize).min(STEPS.len() - 1)]
            }
            Some(_) => STEPS[0],
        };
        means.into_iter().map(step).collect()
    }
}

/// The resource that the load waits for, or that would limit it first, in a sentence.
pub fn answer(look: &IntervalSample) -> Option<String> {
    let busy_pct = look.rates.iter().find(|rate| rate.id == CPU).map(|rate| rate.now);
    let foreign_pct = cpu::foreign_pct(&look.grown).ok();
    if let (Some(busy_pct), Some(foreign_pct)) = (busy_pct, foreign_pct)
        && busy_pct >= BUSY_PCT
        && foreign_pct > busy_pct / 2.0
    {
        return Some(format!("other processes use {foreign_pct:.0} % of the CPU"));
    }
    if let Some(busy_pct) = busy_pct.filter(|busy_pct| *busy_pct >= BUSY_PCT) {
        return Some(format!("all CPUs are busy: {busy_pct:.0} %"));
    }
    limit(look)
}

/// Component that saturates first as the load grows; none if the load is compared with nothing.
pub fn limit(look: &IntervalSample) -> Option<String> {
    let Some(limit) = &look.limit else {
        let mut covered = look.rates.iter().filter_map(|rate| rate.against.as_ref());
        let is_doubtful =
            covered.clone().next().is_some() && covered.all(|rate| rate.status != Status::Valid);
        return is_doubtful.then(|| "limit: unknown, no valid figure covers a rate".into());
    };
    if limit.used > 1.0 {
        return Some(format!("limit: {}, above all that was measured", limit.component));
    }
    let used = limit.used * 100.0;
    // As the table marks it: by a conditional figure.
    let doubtful = doubtful_limit(&look.rates).map_or_else(String::new, |doubtful| {
        format!("; {} {:.0} % ?", doubtful.component, doubtful.used * 100.0)
    });
    Some(format!(
        "limit: {} at {:.1} x this load ({used:.0} % used){doubtful}",
        limit.component, limit.at_times
    ))
}

/// Wait events of the sessions.
pub fn waits(look: &IntervalSample) -> Option<String> {
    let sessions = look.sessions?;
    let wait = |wait: &crate::monitor::poller::Wait| {
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
pub fn cost(look: &IntervalSample) -> String {
    let cpu = look
        .cost
        .own_cpu
        .map_or("unknown".into(), |share| format!("{:.1} % of one CPU", share * 100.0));
    format!("this monitor: {cpu} here, {:.0} queries/s (in the rates)", look.cost.queries_per_s)
}

/// Everything below the rates.
fn notes(look: &IntervalSample) -> Vec<String> {
    let first = answer(look);
    let limit = limit(look).filter(|limit| first.as_ref() != Some(limit));
    let mut lines: Vec<String> = limit.into_iter().chain(waits(look)).collect();
    lines.extend(look.statements.iter().map(statement));
    lines.push(cost(look));
    lines.extend(look.missing.iter().map(|what| format!("not seen: {}", visible(what))));
    lines
}

/// All of it as text, for a single look: whose it is, the rates and the notes. The first look has
/// no peak beside itself.
pub fn whole(title: &Title, look: &IntervalSample) -> String {
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
    let answer = answer(look).map_or(String::new(), |answer| answer + "\n");
    head_line(title, look) + &answer + &table.render(None) + &notes(look).join("\n") + "\n"
}

/// The target, the time and the length of a look, and the run that it is compared with.
fn head_line(title: &Title, look: &IntervalSample) -> String {
    let at = title.at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
    let against =
        title.against.as_ref().map_or(String::new(), |run| format!(", against {}", visible(run)));
    let target = visible(&title.target);
    format!("{target}{at}, over {:.1} s{against}\n", look.interval_s)
}

/// One line of an interval.
pub fn line(look: &IntervalSample) -> String {
    let rate = |rate: &Rate| {
        let used =
            rate.against.as_ref().map_or(String::new(), |covered| format!(" ({})", share(covered)));
        format!("{} {} {}{used}", rate.title, number(rate.now), rate.unit)
    };
    let rates: Vec<String> = look.rates.iter().map(rate).chain(limit(look)).collect();
    format!("{}  {}", time(look.t_s), rates.join(" | "))
}

/// Draws a look on the whole screen, with the course that led to it.
pub fn draw(frame: &mut Frame<'_>, title: &Title, look: &IntervalSample, history: &RateHistory) {
    let outer = Block::bordered()
        .title(head(title, look, usize::from(frame.area().width.saturating_sub(2))))
        .title_bottom(format!(" {} ", title.keys));
    let inside = outer.inner(frame.area());
    frame.render_widget(outer, frame.area());
    let answer = answer(look).map(|answer| shorten(&answer, usize::from(inside.width)));
    let rows = look.rates.len() as u16 + 2;
    let [first, above, below] = Layout::vertical([
        Constraint::Length(u16::from(answer.is_some())),
        Constraint::Length(rows),
        Constraint::Fill(1),
    ])
    .areas(inside);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(Line::styled(answer.unwrap_or_default(), bold)), first);
    frame.render_widget(rates(look, title.against.is_some(), history, above.width), above);
    let width = usize::from(below.width);
    let lines: Vec<Line<'_>> =
        notes(look).iter().map(|line| Line::from(shorten(line, width))).collect();
    frame.render_widget(Paragraph::new(lines), below);
}

/// Title of the screen. Where it is too long the target is shortened: the run that the rates are
/// shares of is not.
fn head(title: &Title, look: &IntervalSample, width: usize) -> String {
    let against =
        title.against.as_ref().map_or(String::new(), |run| format!(", against {}", visible(run)));
    let after = format!(" after {}{against} ", time(look.t_s));
    let room = width.saturating_sub(after.chars().count() + 1);
    format!(" {}{after}", shorten(&visible(&title.target).to_string(), room))
}

/// The table of the rates; that of the limit stands out. Names and figures are whole; bars and
/// courses share what is left of the width.
fn rates(
    look: &IntervalSample,
    is_compared: bool,
    history: &RateHistory,
    width: u16,
) -> Table<'static> {
    let figures = if is_compared { &WIDTHS[..] } else { &WIDTHS[..2] };
    let names = look.rates.iter().map(|rate| cells(rate, is_compared)[0].chars().count());
    let name_width = names.max().unwrap_or(0) as u16;
    let taken: u16 = name_width + figures.iter().map(|width| width + 1).sum::<u16>();
    let left = usize::from(width.saturating_sub(taken));
    let bar_width = if is_compared { (left / 2).saturating_sub(1).min(BAR) } else { 0 };
    let history_width = (left - bar_width).saturating_sub(2).min(HISTORY_S as usize);
    let most = look.limit.as_ref().map(|limit| limit.used);
    let row = |rate: &Rate| {
        let is_limit = most.is_some() && rate.against.as_ref().map(|covered| covered.used) == most;
        let style = if is_limit { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let right = |(at, text): (usize, String)| {
            let line = Line::from(text);
            Cell::from(if (1..5).contains(&at) { line.right_aligned() } else { line })
        };
        let [name, now, peak, measured, used, _] = cells(rate, is_compared);
        let bar = rate.against.as_ref().map(|covered| bar(covered.used, bar_width));
        let mut texts = vec![name, now, peak];
        if is_compared {
            texts.extend([measured, used, bar.unwrap_or_default()]);
        }
        let history = Cell::from(history.line(rate.id, history_width));
        Row::new(texts.into_iter().enumerate().map(right).chain([history])).style(style)
    };
    let bar = is_compared.then_some(bar_width as u16);
    let widths = std::iter::once(name_width)
        .chain(figures.iter().copied())
        .chain(bar)
        .chain([history_width as u16])
        .map(Constraint::Length);
    let shown = if is_compared { HEADS.len() } else { 3 };
    let heads = HEADS.iter().take(shown).chain([&COURSE]).enumerate().map(|(at, head)| {
        let line = Line::from(*head);
        if (1..5).contains(&at) && at < shown { line.right_aligned() } else { line }
    });
    let head = Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED));
    Table::new(look.rates.iter().map(row).collect::<Vec<_>>(), widths).header(head)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::monitor::baseline::Limit;
    use crate::monitor::poller::{Cost, Wait};

    fn share_of(used: f64, status: Status) -> Option<Coverage> {
        Some(Coverage {
            measured: 3900.0,
            workload: "Q".into(),
            jobs: 4,
            status,
            used,
            half_width: None,
        })
    }

    fn look() -> IntervalSample {
        let rate = |title, now, against| Rate {
            id: "x",
            title,
            unit: "tps",
            now,
            peak: 2.0 * now,
            against,
        };
        IntervalSample {
            t_s: 65.0,
            interval_s: 1.0,
            rates: vec![
                rate("Commits", 1020.0, share_of(0.26, Status::Valid)),
                Rate {
                    id: "device_reads",
                    ..rate("Reads", 5.0, share_of(0.5, Status::Conditional))
                },
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
            ..IntervalSample::default()
        }
    }

    fn title() -> Title {
        let (target, against) = ("any://db".into(), Some("run 7".into()));
        Title { target, against, at: None, keys: "q ends" }
    }

    fn screen(width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut history = RateHistory::default();
        let half = |rate: Rate| Rate { now: rate.now / 2.0, ..rate };
        let before = look().rates.into_iter().map(half).collect();
        history.add(&IntervalSample { t_s: 35.0, rates: before, ..look() });
        history.add(&look());
        terminal.draw(|frame| draw(frame, &title(), &look(), &history)).unwrap();
        let cells = terminal.backend().buffer().content.chunks(usize::from(width));
        cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
    }

    #[test]
    fn eighty_columns_hold_everything() {
        let shown = screen(80, 20);
        for text in [
            " any://db after 1:05, against run 7 ",
            "KPM                 now      peak  measured    used              last 60 s",
            "Commits tps       1,020     2,040     3,900    26 % ###.........",
            "\u{2585}     \u{2588}",
            "50 % ?",
            "unknown",
            "limit: log writer at 3.8 x this load (26 % used); device 50 % ?",
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
            text.starts_with("any://db, over 1.0 s, against run 7\nlimit: log writer at ")
                && text.contains("Commits tps")
                && text.contains("26 %")
                && text.contains("peak"),
            "{text}"
        );
        let first = look().rates.into_iter().map(|rate| Rate { peak: rate.now, ..rate });
        let first = IntervalSample { rates: first.collect(), ..look() };
        let text = whole(&Title { at: Some("noon".into()), ..title() }, &first);
        assert!(text.starts_with("any://db at noon, over") && !text.contains("peak"), "{text}");
        let alone = IntervalSample {
            rates: look().rates.into_iter().map(|rate| Rate { against: None, ..rate }).collect(),
            ..look()
        };
        let text = whole(&Title { against: None, ..title() }, &alone);
        assert!(!text.contains("unknown") && !text.contains("measured"), "{text}");
        let doubtful =
            IntervalSample { rates: look().rates.drain(1..).collect(), limit: None, ..look() };
        assert_eq!(
            limit(&doubtful).as_deref(),
            Some("limit: unknown, no valid figure covers a rate")
        );
        assert_eq!(limit(&IntervalSample { rates: Vec::new(), ..doubtful }), None);
        let line = line(&look());
        assert!(
            line.starts_with("1:05  Commits 1,020 tps (26 %) | Reads 5.00 tps (50 % ?) | "),
            "{line}"
        );
        assert!(
            line.ends_with("limit: log writer at 3.8 x this load (26 % used); device 50 % ?")
                && !line.contains('\n')
        );
    }
}
