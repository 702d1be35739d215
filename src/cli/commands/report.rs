//! `report KIND [RUN]...`: a view over the results file.

use std::cmp::Reverse;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::analysis::price::PriceList;
use crate::catalog::{Catalog, nearest};
use crate::cli::args::{BrandingArgs, ReportArgs};
use crate::cli::commands::{ab_test, catalog};
use crate::cli::context::Context;
use crate::cli::paths::command_line;
use crate::cli::{file, out, pdf};
use crate::error::{Error, Result, quote};
use crate::model::RunKind;
use crate::report::branding::{self, Brand, BrandFile, Texts};
use crate::report::format::{Color, FORMATS, Format, Options, Rendered};
use crate::report::{Document, Input, Language, REPORTS, Report, RunTests, Subject, price};
use crate::serve::stored::{self, Chosen};

/// Characters per line of a text in a file.
const FILE_WIDTH: usize = 120;

/// Prints or writes a report.
///
/// # Errors
/// Unknown kinds, runs, tests and formats; an unwritable file.
pub fn report(context: &Context, args: &ReportArgs) -> Result<()> {
    let report = find(&args.kind)?;
    let (subject, output) = (report.subject(), args.out.output.as_deref());
    if args.baseline.is_some() && !report.baseline().is_any() {
        return Err(no_place_for_a_baseline(report));
    }
    show_report(context, report, output, &args.branding, || match subject {
        Subject::Catalog if args.runs.is_empty() && args.test.is_none() => {
            catalog::input(context, command_line())
        }
        Subject::Catalog => Err(Error::usage("report catalog", "does not take a run")
            .advise("leave out the run and --test")),
        Subject::AbTest => {
            Ok(Input { language: args.out.language, ..ab_test::read_ab_test(context, &args.runs)? })
        }
        Subject::Runs | Subject::Tests => {
            let input = input(context, args, subject)?;
            check_baseline(report, form(context, report, output)?, &input)?;
            Ok(input)
        }
    })
}

/// The error of a report that never shows its figures against those of another run.
fn no_place_for_a_baseline(report: &dyn Report) -> Error {
    let mut known: Vec<_> = all().filter(|report| report.baseline().is_any()).collect();
    known.sort_by_key(|report| Reverse(report.baseline()));
    let names: Vec<&str> = known.iter().map(|report| report.name()).collect();
    let what = format!("report {} has no place for it", report.name());
    Error::usage("--baseline", what)
        .advise(format!("choose {}, or use 'dbdyno compare'", names.join(", ")))
}

/// Refuses a run that the report in this form would not show its figures against.
fn check_baseline(report: &dyn Report, format: &dyn Format, input: &Input) -> Result<()> {
    let Some(reference) = &input.reference else { return Ok(()) };
    let is_published = |data: &RunTests| data.run.kind == RunKind::Published;
    let is_beside = input.runs.iter().any(|data| is_published(data) != is_published(reference));
    let is_on_page = format.is_page() && report.baseline().on_page;
    let is_shown = match is_beside {
        true => is_on_page || report.baseline().beside_published,
        false => is_on_page && input.runs.len() == 1,
    };
    match is_shown {
        true => Ok(()),
        false => {
            let runs = if input.runs.len() == 1 { "" } else { " of several runs" };
            let what =
                format!("report {} as {}{runs} does not show it", report.name(), format.name());
            let advice = "choose 'html' or 'datasheet' of one run with --format html, or use \
                          'dbdyno compare'";
            Err(Error::usage("--baseline", what).advise(advice))
        }
    }
}

/// The runs or tests, with prices if some are given.
fn input(context: &Context, args: &ReportArgs, subject: Subject) -> Result<Input> {
    let seconds = find(&args.kind)?.needs_seconds();
    let catalog = context.catalog()?;
    let reference = args
        .baseline
        .as_ref()
        .map(|run| load_with(context, &catalog, std::slice::from_ref(run), false))
        .transpose()?;
    let reference = reference.and_then(|input| input.runs.into_iter().next());
    let chosen = load_chosen(context, &catalog, &chosen(args, subject)?, seconds)?;
    let is_published = |data: &RunTests| data.run.kind == RunKind::Published;
    let (language, point_labels) = (args.out.language, args.point_labels);
    let input = match reference.as_ref().is_some_and(is_published) {
        true => Input { language, reference, catalog, point_labels, ..chosen },
        false => Input { language, reference, point_labels, ..chosen },
    };
    if find(&args.kind)?.is_publication() {
        warn_of_licences(&input);
    }
    with_prices(input, &args.price)
}

/// Says which licenses restrict the publication of figures.
pub fn warn_of_licences(input: &Input) {
    let mut engines: Vec<&str> =
        input.runs.iter().filter_map(|data| data.run.engine.as_deref()).collect();
    engines.sort_unstable();
    engines.dedup();
    for (engine, text) in
        engines.iter().filter_map(|engine| Some((engine, input.licences.get(*engine)?)))
    {
        out::report(&format!("before you publish figures of {engine}: {text}"));
    }
}

/// The runs with what their platforms cost.
///
/// # Errors
/// Unreadable price lists, and those that are for none of the runs.
pub fn with_prices(input: Input, paths: &[PathBuf]) -> Result<Input> {
    let prices = paths.iter().map(|path| read_price(path)).collect::<Result<Vec<_>>>()?;
    let input = Input { prices, ..input };
    match price::unused(&input) {
        Some(name) => {
            Err(Error::usage("--price", format!("{} is not one of the runs", quote(name)))
                .advise("'platform' in the file must be the name or the target of a run"))
        }
        None => Ok(input),
    }
}

/// A price list.
fn read_price(path: &Path) -> Result<PriceList> {
    let text = file::read_small(path, "for a price list")
        .map_err(|error| error.advise("name a file as docs/price.md shows"))?;
    PriceList::parse(&text).map_err(|mistake| {
        Error::usage(file::line_of(path, &text, mistake.offset), mistake.what)
            .advise("docs/price.md shows the form")
    })
}

/// The runs asked for, `RUN:SEQ` and `--test N` taken apart; the last run if none is.
fn chosen(args: &ReportArgs, subject: Subject) -> Result<Vec<Chosen>> {
    let last = ["last".to_string()];
    let runs = if args.runs.is_empty() { &last[..] } else { &args.runs };
    let one = |text: &String| match (
        args.test,
        text.rsplit_once(':').map(|(run, seq)| (run, seq.parse())),
    ) {
        (Some(test), _) => Chosen { run: text.clone(), test: Some(test) },
        (None, Some((run, Ok(test)))) => Chosen { run: run.into(), test: Some(test) },
        _ => Chosen { run: text.clone(), test: None },
    };
    let chosen: Vec<Chosen> = runs.iter().map(one).collect();
    if subject == Subject::Tests && chosen.iter().any(|chosen| chosen.test.is_none()) {
        return Err(Error::usage(format!("report {}", args.kind), "no test is named")
            .advise("give RUN:SEQ, or RUN --test N; 'dbdyno results show RUN' lists the tests"));
    }
    Ok(chosen)
}

/// Prints the report of a run.
///
/// # Errors
/// As [`report`].
pub fn of_run(context: &Context, report: &dyn Report, run: &str) -> Result<()> {
    show_report(context, report, None, &BrandingArgs::default(), || {
        load(context, &[run.to_string()], report.needs_seconds())
    })
}

fn show_report(
    context: &Context,
    report: &dyn Report,
    output: Option<&Path>,
    branding: &BrandingArgs,
    input: impl FnOnce() -> Result<Input>,
) -> Result<()> {
    let format = form(context, report, output)?;
    show(
        context,
        format,
        &with_branding(build(report, format, input()?), format, branding)?,
        output,
    )
}

/// The document with what is added to it.
///
/// # Errors
/// Unreadable files, a format that has no place for it, unknown sections.
pub fn with_branding(
    mut document: Document,
    format: &dyn Format,
    branding: &BrandingArgs,
) -> Result<Document> {
    if let Some(path) = &branding.brand {
        refuse_unless(format.is_page(), "--brand", format, "choose html or pdf")?;
        document.brand = Some(brand(path)?);
    }
    if let Some(path) = &branding.notes {
        refuse_unless(!format.is_for_programs(), "--notes", format, "choose a format for people")?;
        let read = file::read_small(path, "for paragraphs")?;
        let advice = "each [[text]] has paragraphs, perhaps a section";
        let texts = Texts::parse(&read).map_err(|mistake| {
            Error::usage(file::line_of(path, &read, mistake.offset), mistake.what).advise(advice)
        })?;
        texts.add_to(&mut document).map_err(|what| {
            Error::usage(path.display().to_string(), what).advise("name one of its sections")
        })?;
    }
    Ok(document)
}

fn refuse_unless(is_possible: bool, option: &str, format: &dyn Format, advice: &str) -> Result<()> {
    match is_possible {
        true => Ok(()),
        false => {
            Err(Error::usage(option, format!("{} has no place for it", format.name()))
                .advise(advice))
        }
    }
}

fn brand(path: &Path) -> Result<Brand> {
    let text = file::read_small(path, "for a brand")?;
    let advice = "a brand has name, logo, accent and footer";
    let read = BrandFile::parse(&text).map_err(|mistake| {
        Error::usage(file::line_of(path, &text, mistake.offset), mistake.what).advise(advice)
    })?;
    let logo = read.logo.as_ref().map(|logo| path.with_file_name(logo));
    let content = logo.map(|logo| file::read_bytes(&logo, branding::MAX_LOGO_BYTES)).transpose()?;
    read.with(content.as_deref())
        .map_err(|what| Error::usage(path.display().to_string(), what).advise("change the file"))
}

/// The form asked for, else the report's usual one.
///
/// # Errors
/// Unknown formats, and those that are not for a terminal.
pub fn form(
    context: &Context,
    report: &dyn Report,
    output: Option<&Path>,
) -> Result<&'static dyn Format> {
    let format = chosen_format(context, report.format(), output)?;
    if format.is_printed_page() {
        pdf::browser()?;
    }
    check_output(format, output).map(|()| format)
}

/// The document of a report: for programs in English.
pub fn build(report: &dyn Report, format: &dyn Format, asked: Input) -> Document {
    let language = if format.is_for_programs() { Language::Programs } else { asked.language };
    report.build(&Input { language, ..asked })
}

/// Writes a document in a form, to a file or to standard output.
///
/// # Errors
/// If the form cannot hold it; an unwritable file.
pub fn show(
    context: &Context,
    format: &dyn Format,
    document: &Document,
    output: Option<&Path>,
) -> Result<()> {
    let rendered = format.render(document, options(context, output))?;
    let content = if format.is_printed_page() {
        Rendered::Bytes(pdf::print(rendered.as_bytes())?)
    } else {
        rendered
    };
    write(context, &content, output)
}

/// Every report that can be asked for by its name.
pub fn all() -> impl Iterator<Item = &'static dyn Report> {
    REPORTS.iter().copied().filter(|report| report.own_command().is_none())
}

/// The report of this name.
///
/// # Errors
/// Names the known reports.
pub fn find(kind: &str) -> Result<&'static dyn Report> {
    // A report of several runs may be asked for in the plural: `platforms`, `ramps`.
    let is_asked = |report: &&dyn Report| {
        report.name() == kind
            || report.former_name() == Some(kind)
            || kind.strip_suffix('s') == Some(report.name())
    };
    all().find(is_asked).ok_or_else(|| {
        let known: Vec<_> = all().map(|report| report.name()).collect();
        let question = match nearest(kind, known.iter().copied()).first() {
            Some(name) => format!("did you mean '{name}'? known: "),
            None => "choose ".into(),
        };
        Error::usage("report", format!("{} is not a report", quote(kind)))
            .advise(format!("{question}{}", known.join(", ")))
    })
}

/// `--format`; else what the file's ending says; else the usual one, also for a file without an
/// ending.
fn chosen_format(
    context: &Context,
    usual: &str,
    output: Option<&Path>,
) -> Result<&'static dyn Format> {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name()).collect();
    let name = match (&context.global.format, output.filter(|path| path.extension().is_some())) {
        (None, Some(path)) => return by_ending(path, FORMATS.to_vec()),
        (None, None) => usual.to_string(),
        (Some(_), _) => context.format(&names)?,
    };
    FORMATS
        .iter()
        .copied()
        .find(|format| format.name() == name)
        .ok_or_else(|| Error::usage("--format", "unknown"))
}

/// The format that a file's ending stands for; none that needs a browser, which may be missing
/// after a long run.
///
/// # Errors
/// Names the known endings.
pub fn format_of_file(path: &Path) -> Result<&'static dyn Format> {
    by_ending(path, FORMATS.iter().copied().filter(|format| !format.is_printed_page()).collect())
}

fn by_ending(path: &Path, formats: Vec<&'static dyn Format>) -> Result<&'static dyn Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    formats
        .iter()
        .copied()
        .find(|format| format.extension().eq_ignore_ascii_case(ending))
        .ok_or_else(|| {
            let known: Vec<_> =
                formats.iter().map(|format| format!(".{}", format.extension())).collect();
            Error::usage(path.display().to_string(), "the file's extension does not name a format")
                .advise(format!("use {}", known.join(", ")))
        })
}

/// Checks a file that will be written after a long run: its ending, whether its directory lets us
/// write, and that it is not the results file.
///
/// # Errors
/// Names the known endings, or the directory.
pub fn check_file(context: &Context, path: &Path) -> Result<()> {
    format_of_file(path)?;
    file::refuse_results(context, path)?;
    file::check_parent(path)?;
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if path.exists() { path } else { directory };
    if directory.is_dir()
        && !path.is_dir()
        && rustix::fs::access(place, rustix::fs::Access::WRITE_OK).is_ok()
    {
        return Ok(());
    }
    Err(Error::usage(path.display().to_string(), "cannot be written").advise("name another file"))
}

/// Refuses to print a workbook on a terminal.
fn check_output(format: &dyn Format, output: Option<&Path>) -> Result<()> {
    if format.is_text() || output.is_some() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Error::usage(format!("--format {}", format.name()), "cannot be shown on a terminal")
        .advise(format!("give --output FILE.{}", format.extension())))
}

/// The runs with their tests; `seconds`: with series and snapshots.
///
/// # Errors
/// Unknown runs.
fn load(context: &Context, runs: &[String], seconds: bool) -> Result<Input> {
    load_with(context, &context.catalog()?, runs, seconds)
}

/// The same for a command that has read the catalog.
///
/// # Errors
/// Unknown runs.
pub fn load_with(
    context: &Context,
    catalog: &Catalog,
    runs: &[String],
    seconds: bool,
) -> Result<Input> {
    load_chosen(context, catalog, &whole(runs), seconds)
}

/// These runs with all their tests.
fn whole(runs: &[String]) -> Vec<Chosen> {
    runs.iter().map(|run| Chosen { run: run.clone(), test: None }).collect()
}

fn load_chosen(
    context: &Context,
    catalog: &Catalog,
    chosen: &[Chosen],
    seconds: bool,
) -> Result<Input> {
    stored::input(&context.store_to_read()?, catalog, chosen, seconds, command_line())
}

/// Width and colors, for a file or the terminal.
fn options(context: &Context, output: Option<&Path>) -> Options {
    match output {
        Some(_) => for_file(),
        None => terminal(context),
    }
}

/// Text for a file.
pub fn for_file() -> Options {
    Options::whole_tables(FILE_WIDTH)
}

/// Text for standard output: its width and colors. Where no terminal shows it and nobody asked for
/// a width, a program may read it, so tables keep all their columns.
fn terminal(context: &Context) -> Options {
    let options = match context.fit() {
        Some(width) => Options::plain(width),
        None => Options::whole_tables(context.width()),
    };
    Options { color: color(context), ..options }
}

/// Colors that standard output shows; `COLORTERM` is how a terminal says that it knows all of them.
fn color(context: &Context) -> Color {
    let knows_all = |value: String| value == "truecolor" || value == "24bit";
    match context.color() {
        false => Color::None,
        true if std::env::var("COLORTERM").is_ok_and(knows_all) => Color::True,
        true => Color::Indexed,
    }
}

/// Writes a document to a file or to standard output.
///
/// # Errors
/// If the file cannot be written.
pub fn write(context: &Context, content: &Rendered, output: Option<&Path>) -> Result<()> {
    match output {
        None => out::bytes(content.as_bytes()),
        Some(path) => file::write(context, path, content.as_bytes()),
    }
}
