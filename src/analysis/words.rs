//! Numbers in sentences.

/// A number for a sentence: whole from 100 on, else three significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == value.trunc() => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

/// A fraction as percent for a sentence.
pub fn percent(fraction: f64) -> String {
    format!("{} %", number(fraction * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_percentages_read_well() {
        let texts = [12_345.6, 12.34, 1.234, 0.1234, 0.000_12, 0.0, 2.0].map(number);
        assert_eq!(texts, ["12346", "12.3", "1.23", "0.123", "1.2e-4", "0", "2"]);
        assert_eq!(percent(0.0512), "5.12 %");
    }
}
