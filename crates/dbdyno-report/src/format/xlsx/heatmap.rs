//! A heatmap as a table with a color scale per row: the spreadsheet colors the figures itself,
//! also changed ones.

use rust_xlsxwriter::utility::row_col_to_cell_absolute;
use rust_xlsxwriter::{
    ColNum, Color, ConditionalFormat3ColorScale, ConditionalFormatType, Formula,
};

use super::super::{heat_shown, rank_sign, superscript};
use super::sheet::{Area, Sheet, Written, at};
use super::styles::{Style, level, number_format};
use crate::Language;
use crate::document::{Cell, HeatCell, HeatRow, Heatmap};
use crate::shade::{Rgb, ground};
use dbdyno_core::model::Better;

/// Label and unit stand before the platforms.
const LEADING: usize = 2;
/// Shares at the ends of the scale: a spreadsheet cannot choose the color of the text by the
/// ground, and black can be read on all between these.
const NEARLY_NOTHING: f64 = 0.05;
const NEARLY_BEST: f64 = 0.95;
/// End of the scale where lower is better, since no figure has share 0 there: it ends at this
/// multiple of the best.
const WORST_MULTIPLE: u32 = 10;

/// Writes the heatmap.
pub fn write(sheet: &mut Sheet<'_>, map: &Heatmap) -> Written<Area> {
    let header = sheet.row;
    sheet.header(0, &map.row_title, false)?;
    sheet.header(1, &map.language.phrase("Unit"), false)?;
    for (platform, name) in map.columns.iter().enumerate() {
        sheet.header(at(LEADING + platform), name, true)?;
    }
    sheet.row += 1;
    for row in &map.rows {
        write_row(sheet, row, map.language)?;
        sheet.row += 1;
    }
    let last_column = at(LEADING + map.columns.len() - 1);
    let area = Area { header, label: 0, last_row: sheet.row - 1, last_column };
    sheet.notes(&map.as_table())?;
    Ok(area)
}

fn write_row(sheet: &mut Sheet<'_>, row: &HeatRow, language: Language) -> Written {
    sheet.text(0, &row.label, Style::Label)?;
    sheet.text(1, &row.unit, Style::Label)?;
    for (platform, cell) in row.cells.iter().enumerate() {
        write_cell(sheet, at(LEADING + platform), cell, language)?;
    }
    colour(sheet, row)
}

fn write_cell(
    sheet: &mut Sheet<'_>,
    column: ColNum,
    cell: &HeatCell,
    language: Language,
) -> Written {
    sheet.widen(column, heat_shown(cell, language).chars().count());
    match &cell.cell {
        Cell::Number { value, digits, verdict } => {
            let sign = rank_sign(cell.rank);
            let format = number_format(*value, *digits, *verdict, sign);
            // Ground and text would both be colored: only the mark shows the verdict, and hatching
            // an invalid figure.
            let is_hatched = level(*verdict) == 2;
            let style = Style::Number { format, verdict: 0, is_best: !sign.is_empty(), is_hatched };
            sheet.worksheet.write_number_with_format(
                sheet.row,
                column,
                *value,
                sheet.styles.get(style),
            )?;
            Ok(())
        }
        Cell::Unknown(footnote) => {
            sheet.text(column, &format!("-{}", superscript(footnote + 1)), Style::Unknown)
        }
        _ => Ok(()),
    }
}

/// The color scale over the figures that may be compared.
fn colour(sheet: &mut Sheet<'_>, row: &HeatRow) -> Written {
    let compared = row.cells.iter().enumerate().filter(|(_, cell)| cell.share.is_some());
    let columns: Vec<ColNum> = compared.map(|(platform, _)| at(LEADING + platform)).collect();
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else { return Ok(()) };
    let cells: Vec<String> =
        columns.iter().map(|&column| row_col_to_cell_absolute(sheet.row, column)).collect();
    let ranges = cells.join(" ").replace('$', "");
    let most = row.cells.iter().filter_map(|cell| cell.share).fold(0.0, f64::max);
    let best = best(row.better, &cells.join(","), most);
    let scale = scale(row.better, &best).set_multi_range(ranges);
    sheet.worksheet.add_conditional_format(sheet.row, *first, sheet.row, *last, &scale)?;
    Ok(())
}

/// Formula of the best of a row, whose best figure has the share `most` of it: less than 1 where
/// only a lower bound, which has no color, is known of a better one.
fn best(better: Better, cells: &str, most: f64) -> String {
    let is_beyond = most > 0.0 && most < 1.0;
    match better {
        Better::Higher if is_beyond => format!("MAX({cells})/{most}"),
        Better::Higher => format!("MAX({cells})"),
        Better::Lower if is_beyond => format!("MIN({cells})*{most}"),
        Better::Lower => format!("MIN({cells})"),
    }
}

fn scale(better: Better, best_of_row: &str) -> ConditionalFormat3ColorScale {
    let [worst, middle, best] = [NEARLY_NOTHING, 0.5, NEARLY_BEST].map(|share| rgb(ground(share)));
    let formula = |text: String| Formula::new(text);
    let scale = ConditionalFormat3ColorScale::new();
    match better {
        Better::Higher => scale
            .set_minimum(ConditionalFormatType::Number, 0)
            .set_midpoint(ConditionalFormatType::Formula, formula(format!("={best_of_row}/2")))
            .set_maximum(ConditionalFormatType::Formula, formula(format!("={best_of_row}")))
            .set_minimum_color(worst)
            .set_midpoint_color(middle)
            .set_maximum_color(best),
        Better::Lower => scale
            .set_minimum(ConditionalFormatType::Formula, formula(format!("={best_of_row}")))
            .set_midpoint(ConditionalFormatType::Formula, formula(format!("={best_of_row}*2")))
            .set_maximum(
                ConditionalFormatType::Formula,
                formula(format!("={best_of_row}*{WORST_MULTIPLE}")),
            )
            .set_minimum_color(best)
            .set_midpoint_color(middle)
            .set_maximum_color(worst),
    }
}

fn rgb(color: Rgb) -> Color {
    Color::RGB(color.code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shade::BLACK;

    #[test]
    fn the_strongest_color_is_that_of_a_lower_bound_beyond_the_best() {
        assert_eq!(best(Better::Higher, "$C$3,$D$3", 1.0), "MAX($C$3,$D$3)");
        assert_eq!(best(Better::Higher, "$C$3,$D$3", 0.8), "MAX($C$3,$D$3)/0.8");
        assert_eq!(best(Better::Lower, "$C$3,$D$3", 0.5), "MIN($C$3,$D$3)*0.5");
        assert_eq!(best(Better::Lower, "$C$3,$D$3", 1.0), "MIN($C$3,$D$3)");
    }

    #[test]
    fn black_can_be_read_on_the_whole_scale() {
        for step in 5..=95 {
            assert!(BLACK.contrast(ground(f64::from(step) / 100.0)) >= 4.5, "{step}");
        }
    }
}
