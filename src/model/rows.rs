//! The row function: row i of a table as a pure function of i, the table's row count and the seed; integer
//! arithmetic below 63 bits, so that every SQL dialect can compute the same row.

/// Months of `booked_on` start here: 2024-01-01 as days since 1970-01-01.
pub const FIRST_DAY: i64 = 19_723;

/// Gives rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFunction {
    /// Rows of the table: a multiple of 8000, so that every key has exactly its number of rows.
    pub table_rows: u64,
    pub seed: u64,
}

/// One row; `code` and `filler` are written by [`Row::code`] and [`Row::filler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub id: i64,
    pub key25: i64,
    pub key125: i64,
    pub key320: i64,
    /// 1..=8.
    pub region: i64,
    /// Days since 1970-01-01.
    pub booked_on_days: i64,
    /// Exact decimal with 2 places, in hundredths.
    pub amount_cents: i64,
    pub quantity: i64,
    /// 0 after loading; updates raise it.
    pub status: i64,
    h1: i64,
    h2: i64,
}

/// Every row count is a multiple of this, so that key25, key125 and key320 have exactly their rows.
const ROWS_STEP: u64 = 8_000;

/// Rows of `table` at a nominal size: the big table has 1,000,000 rows per GB, the small one 1/32 of it, neither
/// below its minimum, each rounded to the nearest multiple of 8000.
pub fn table_rows(table: &str, size_gb: f64) -> u64 {
    let (rows, least) = match table {
        "small" => (size_gb * 1e6 / 32.0, 2 * ROWS_STEP),
        _ => (size_gb * 1e6, 6 * ROWS_STEP),
    };
    let steps = (rows / ROWS_STEP as f64).round() as u64;
    (steps * ROWS_STEP).max(least)
}

#[cfg(test)]
mod table_rows_tests {
    use super::table_rows;

    #[test]
    fn row_counts_are_multiples_of_8000_and_have_a_minimum() {
        assert_eq!(table_rows("big", 1.0), 1_000_000);
        assert_eq!(table_rows("small", 1.0), 32_000);
        assert_eq!(table_rows("big", 0.25), 248_000);
        assert_eq!((table_rows("big", 0.0), table_rows("small", 0.25)), (48_000, 16_000));
    }
}
