//! Figures as text: enough digits to compare, grouped thousands, never an exponent.

use super::super::document::Digits;

/// More decimals than this are noise.
const MAX_DECIMALS: i32 = 9;

/// Number for people who read English: `158,230`, `82.10`, `0.01218`; other languages write it with
/// their own marks.
pub fn readable(value: f64, digits: Digits) -> String {
    grouped(&plain(value, digits))
}

/// A plain number with its thousands grouped.
pub fn grouped(plain: &str) -> String {
    let (sign, rest) = plain.split_at(usize::from(plain.starts_with('-')));
    let (whole, fraction) =
        rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let grouped = group(whole);
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// Number as by [`readable`], without grouping.
pub fn plain(value: f64, digits: Digits) -> String {
    let decimals = decimals_shown(value, digits);
    let shown = format!("{value:.decimals$}");
    // A zero has no sign, whatever was rounded to it.
    match shown.strip_prefix('-') {
        Some(rest) if !rest.contains(|digit: char| ('1'..='9').contains(&digit)) => rest.into(),
        _ => shown,
    }
}

/// Number of digits behind the point.
pub fn decimals_shown(value: f64, digits: Digits) -> usize {
    match digits {
        Digits::Decimals(decimals) => usize::from(decimals),
        Digits::Significant(digits) => decimals(value, digits),
    }
}

/// Decimals that show `digits` significant digits; figures with more digits before the point are
/// shown whole.
fn decimals(value: f64, digits: u8) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let needed = |value: f64| {
        (i32::from(digits) - 1 - value.abs().log10().floor() as i32).clamp(0, MAX_DECIMALS)
    };
    // Rounding may carry into a new digit: 9.9996 with 4 digits is 10.00.
    let scale = 10_f64.powi(needed(value));
    let rounded = (value * scale).round() / scale;
    usize::try_from(needed(if rounded == 0.0 { value } else { rounded })).unwrap_or(0)
}

fn group(whole: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_significant_digits_grouped_and_without_exponent() {
        let cases = [
            (158_230.7, "158,231"),
            (1_234_567_890.0, "1,234,567,890"),
            (82.1, "82.10"),
            (9.999_6, "10.00"),
            (999.96, "1,000"),
            (0.012_179_8, "0.01218"),
            (1.5e-12, "0.000000000"),
            (-4_321.0, "-4,321"),
            (0.0, "0"),
            (-0.0, "0"),
            (-1.5e-12, "0.000000000"),
        ];
        for (value, expected) in cases {
            assert_eq!(readable(value, Digits::Significant(4)), expected);
        }
        assert_eq!(readable(12_345.678, Digits::Decimals(1)), "12,345.7");
        assert_eq!(plain(12_345.678, Digits::Decimals(1)), "12345.7");
    }
}
