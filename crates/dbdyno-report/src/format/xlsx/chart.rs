//! A chart as a native one, beside the table of its points.

use rust_xlsxwriter::{
    Chart as Native, ChartAxis, ChartFormat, ChartLegendPosition, ChartLine, ChartLineDashType,
    ChartMarker, ChartMarkerType, ChartPoint, ChartSolidFill, ChartType, Color, RowNum,
};

use super::sheet::{Sheet, Written};
use crate::document::{Axis, Chart, Role, Scale, Series};
use dbdyno_core::model::Status;

/// Colors of platforms (Okabe and Ito: also distinguished by people who see colors differently).
const COLORS: [u32; 7] =
    [0x0000_72B2, 0x00D5_5E00, 0x0000_9E73, 0x00CC_79A7, 0x0056_B4E9, 0x00E6_9F00, 0x0000_0000];
/// Marks of platforms, so that color is not the only sign.
const MARKS: [ChartMarkerType; 7] = [
    ChartMarkerType::Circle,
    ChartMarkerType::Square,
    ChartMarkerType::Diamond,
    ChartMarkerType::Triangle,
    ChartMarkerType::X,
    ChartMarkerType::Star,
    ChartMarkerType::PlusSign,
];
/// Lines of variants.
const LINES: [ChartLineDashType; 4] = [
    ChartLineDashType::Solid,
    ChartLineDashType::Dash,
    ChartLineDashType::RoundDot,
    ChartLineDashType::DashDot,
];

/// The table has six columns; the chart is to the right of it.
const BESIDE: u16 = 7;
/// Size of a chart, in pixels and in rows of a sheet.
const SIZE: (u32, u32) = (720, 380);
const ROWS: RowNum = 20;

/// Writes the points and the chart.
pub fn write(sheet: &mut Sheet<'_>, chart: &Chart) -> Written {
    let top = sheet.row;
    sheet.table(&chart.as_drawn())?;
    if chart.series.iter().any(|series| !series.points.is_empty()) {
        let mut native = native(sheet.name, chart, top + 1);
        native.set_width(SIZE.0).set_height(SIZE.1);
        sheet.worksheet.insert_chart(top, BESIDE, &native)?;
        sheet.row = sheet.row.max(top + ROWS);
    }
    Ok(())
}

/// The chart over the points that begin in row `first`, series after series.
fn native(sheet: &str, chart: &Chart, first: RowNum) -> Native {
    let mut native = Native::new(ChartType::ScatterStraightWithMarkers);
    native.title().set_name(&literal(&chart.title));
    native.legend().set_position(ChartLegendPosition::Bottom);
    let points = || chart.series.iter().flat_map(|series| &series.points);
    axis(native.x_axis(), &chart.x, points().map(|point| point.x));
    axis(native.y_axis(), &chart.y, points().map(|point| point.y));
    let mut row = first;
    for series in &chart.series {
        let points = RowNum::try_from(series.points.len()).unwrap_or(0);
        if points > 0 {
            add(&mut native, sheet, series, row, row + points - 1);
            row += points;
        }
    }
    native
}

fn axis(native: &mut ChartAxis, axis: &Axis, values: impl Iterator<Item = f64>) {
    let name = match &axis.unit {
        Some(unit) => format!("{} [{unit}]", axis.name),
        None => axis.name.clone(),
    };
    native.set_name(&literal(&name)).set_major_gridlines(true).set_num_format("#,##0.###");
    match axis.scale {
        Scale::Linear => native.set_min(0),
        Scale::Log2 => {
            let (low, high) = powers_of_two(values);
            native.set_log_base(2).set_major_unit(2).set_min(low).set_max(high * ROOM)
        }
        Scale::Log10 => native.set_log_base(10),
    };
}

/// Room at the ends of a logarithmic axis: not every spreadsheet draws a point exactly at the end.
const ROOM: f64 = 1.05;

/// The powers of two around the values: not every spreadsheet finds the ends of such an axis
/// itself.
fn powers_of_two(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let positive = values.filter(|value| *value > 0.0);
    let ends = positive.map(f64::log2).map(|power| (power.floor(), power.ceil()));
    let around = ends.reduce(|(low, high), (floor, ceil)| (low.min(floor), high.max(ceil)));
    let (low, high) = around.unwrap_or((0.0, 1.0));
    (low.exp2(), high.max(low + 1.0).exp2())
}

fn add(native: &mut Native, sheet: &str, series: &Series, first: RowNum, last: RowNum) {
    let color = Color::RGB(COLORS[series.platform % COLORS.len()]);
    let mut line = ChartLine::new();
    line.set_color(color).set_dash_type(LINES[series.variant % LINES.len()]);
    let mut marker = ChartMarker::new();
    match series.role {
        Role::Measured => {
            line.set_width(2);
            let mut fill = ChartFormat::new();
            fill.set_solid_fill(ChartSolidFill::new().set_color(color));
            marker.set_type(MARKS[series.platform % MARKS.len()]).set_size(7).set_format(&mut fill);
        }
        // Its ends stand in the sheet; areas and lines do not go together in a native chart.
        Role::Noise => return,
        Role::Fitted => {
            line.set_width(1);
            marker.set_none();
        }
    }
    let added = native.add_series();
    added
        .set_name(&literal(&series.name))
        .set_categories((sheet, first, 1, last, 1))
        .set_values((sheet, first, 2, last, 2));
    added.set_format(&mut line).set_marker(&marker);
    if (0..series.points.len()).any(|at| is_doubtful(series, at)) {
        added.set_points(&marks(series, color));
    }
}

/// True of a point on which no statement rests.
fn is_doubtful(series: &Series, at: usize) -> bool {
    series.points[at].verdict.is_some_and(|status| status > Status::Valid)
}

/// A mark for each point: hollow where no statement rests on the figure, as on the page.
fn marks(series: &Series, color: Color) -> Vec<ChartPoint> {
    let mut outline = ChartLine::new();
    outline.set_color(color);
    let mut hollow = ChartFormat::new();
    hollow.set_solid_fill(ChartSolidFill::new().set_color(Color::White)).set_border(&outline);
    let mut marks = Vec::new();
    for at in 0..series.points.len() {
        marks.push(match is_doubtful(series, at) {
            true => ChartPoint::new().set_format(&mut hollow),
            false => ChartPoint::new(),
        });
    }
    marks
}

/// A name that the library does not take for a reference to cells: `=...`, `sheet!A1`.
fn literal(name: &str) -> String {
    let name = name.replace('!', "! ");
    if name.starts_with('=') { format!("'{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_not_valid_is_hollow_in_the_workbook_too() {
        use crate::document::Point;
        let point = |verdict| Point { x: 1.0, y: 1.0, verdict, ..Point::default() };
        let verdicts =
            [None, Some(Status::Valid), Some(Status::Conditional), Some(Status::Invalid)];
        let points = verdicts.map(point).into();
        let series = Series { points, ..Series::default() };
        let doubtful: Vec<usize> = (0..4).filter(|at| is_doubtful(&series, *at)).collect();
        assert_eq!(doubtful, [2, 3]);
        assert_eq!(
            marks(&series, Color::Black).len(),
            4,
            "a point without a mark has the usual one"
        );
    }

    #[test]
    fn an_axis_of_jobs_ends_at_powers_of_two() {
        assert_eq!(powers_of_two([1.0, 2.0, 6.0].into_iter()), (1.0, 8.0));
        assert_eq!(powers_of_two([0.0, 3.0].into_iter()), (2.0, 4.0));
        assert_eq!(powers_of_two([4.0].into_iter()), (4.0, 8.0));
        assert_eq!(powers_of_two([].into_iter()), (1.0, 2.0));
    }
}
