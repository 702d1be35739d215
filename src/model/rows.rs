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
