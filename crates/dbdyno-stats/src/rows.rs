//! The row function: row i of a table as a pure function of i, the table's row count and the seed;
//! integer arithmetic below 63 bits, so that every SQL dialect can compute the same row.
//!
//! Columns in table order: id, key25, key125, key320, region, booked_on, amount, quantity, status,
//! code, filler. With M = 2^31 - 1, i = 1.., s = seed mod M, K = table_rows / 25 (125, 320):
//!
//! | value | formula |
//! |---|---|
//! | h1 | (i * 1327217885 + 12345 + s) mod M |
//! | h2 | (h1 * h1 + i) mod M |
//! | key25 | 1 + (i - 1) mod K, so key k has the ids k, k + K, k + 2K ...: each in another block |
//! | region | 1 + h1 mod 8 |
//! | booked_on | 2024-01-01 + h2 mod 731 days (24 months) |
//! | amount | (1 + (h1 / 8) mod 1000000) hundredths |
//! | quantity | 1 + (h2 / 731) mod 100 |
//! | status | 0 |
//! | code | h1 + 3000000000, h2 + 3000000000, i + 100000000000 as text: 10 + 10 + 12 digits |
//! | filler | a constant pad of 168 letters, then i + 100000000000 as text |
//!
//! SQL types: bigint (id), integer (keys, region, quantity, status), date, numeric(12,2),
//! varchar(32), varchar(200). Where an engine has neither date nor decimal, `booked_on` is ISO
//! text, `amount` an integer in hundredths. `catalog/datasets/` writes the same in SQL; integration
//! tests hold both against each other.

/// `booked_on` starts here: 2024-01-01 as days since 1970-01-01.
pub const FIRST_DAY: i64 = 19_723;
/// Days of the 24 months: 2024-01-01 to 2025-12-31.
pub const DAYS: i64 = 731;
/// Row counts of tables are multiples of this, the least common multiple of 25, 125 and 320.
pub const ROW_STEP: u64 = 8000;
/// Most rows of a table: above it the hash arithmetic leaves 63 bits.
pub const MAX_ROWS: u64 = 1 << 31;
/// Approximate size of a stored row in bytes, for estimates.
pub const ROW_BYTES: u64 = 300;
/// The constant part of `filler`; `{{pad}}` in SQL.
pub const PAD: &str = "dbdyno pads its rows with these letters and one number so that a row has \
                       about three hundred bytes on every engine and the row function stays cheap \
                       abcdefghijklmnopqrst";

const MODULUS: u64 = 2_147_483_647;
const MULTIPLIER: u64 = 1_327_217_885;
const INCREMENT: u64 = 12_345;
/// Added to the hashes in `code`: any sum has 10 digits.
const HASH_BASE: u64 = 3_000_000_000;
/// Added to the id in `code` and `filler`: any sum has 12 digits.
const ID_BASE: u64 = 100_000_000_000;

/// Rows of `table` (`small` or `big`) at a nominal size: big has 1,000,000 per GB but at least
/// 48,000, small has 1/32 of that but at least 16,000; rounded to a multiple of [`ROW_STEP`].
pub fn table_rows(table: &str, size_gb: f64) -> u64 {
    let (wanted, least) = match table {
        "small" => (size_gb * 1e6 / 32.0, 16_000),
        _ => (size_gb * 1e6, 48_000),
    };
    let steps = (wanted / ROW_STEP as f64).round() as u64;
    (steps * ROW_STEP).clamp(least, MAX_ROWS / ROW_STEP * ROW_STEP)
}

/// Gives rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RowFunction {
    /// Rows of the table: a multiple of 8000, so that every key has exactly its number of rows.
    pub table_rows: u64,
    /// Seed of the data set: equal seeds give equal rows.
    pub seed: u64,
}

impl RowFunction {
    /// Row `id`, from 1. Ids above `table_rows` (rows that a load workload adds) follow the same
    /// formulas.
    pub fn row(&self, id: u64) -> Row {
        // The rest of the id gives the same: a load of hours adds ids whose product has no room.
        let rest = id % MODULUS;
        let h1 = (rest * MULTIPLIER + INCREMENT + self.seed_part()) % MODULUS;
        let h2 = (h1 * h1 + rest) % MODULUS;
        Row {
            id: id as i64,
            key25: self.key(id, 25),
            key125: self.key(id, 125),
            key320: self.key(id, 320),
            region: 1 + (h1 % 8) as i64,
            booked_on_days: FIRST_DAY + (h2 % DAYS as u64) as i64,
            amount_cents: 1 + (h1 / 8 % 1_000_000) as i64,
            quantity: 1 + (h2 / DAYS as u64 % 100) as i64,
            status: 0,
            h1,
            h2,
        }
    }

    /// The seed as it enters the hash (`s` of the formulas, `{{seed}}` in SQL): below 2^31.
    #[inline]
    pub fn seed_part(&self) -> u64 {
        self.seed % MODULUS
    }

    /// Distinct values of the key that has `rows_per_key` rows per value.
    #[inline]
    pub fn keys(&self, rows_per_key: u64) -> u64 {
        (self.table_rows / rows_per_key).max(1)
    }

    #[inline]
    fn key(&self, id: u64, rows_per_key: u64) -> i64 {
        1 + ((id - 1) % self.keys(rows_per_key)) as i64
    }
}

/// One row; `code` and `filler` are written by [`Row::code`] and [`Row::filler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Primary key, from 1.
    pub id: i64,
    /// Key whose every value 25 rows have.
    pub key25: i64,
    /// Key whose every value 125 rows have.
    pub key125: i64,
    /// Key whose every value 320 rows have.
    pub key320: i64,
    /// 1..=8.
    pub region: i64,
    /// Days since 1970-01-01.
    pub booked_on_days: i64,
    /// Exact decimal with 2 places, in hundredths. An engine without a decimal type stores this
    /// integer.
    pub amount_cents: i64,
    /// 1..=100.
    pub quantity: i64,
    /// 0 after loading; updates raise it.
    pub status: i64,
    h1: u64,
    h2: u64,
}

impl Row {
    /// Puts the 32 digits of column `code` into `text`, which is cleared first.
    pub fn code(&self, text: &mut String) {
        text.clear();
        push_digits::<10>(text, self.h1 + HASH_BASE);
        push_digits::<10>(text, self.h2 + HASH_BASE);
        push_digits::<12>(text, self.id as u64 + ID_BASE);
    }

    /// Puts the 180 characters of column `filler` into `text`, which is cleared first.
    pub fn filler(&self, text: &mut String) {
        text.clear();
        text.push_str(PAD);
        push_digits::<12>(text, self.id as u64 + ID_BASE);
    }

    /// Date of `booked_on`.
    #[inline]
    pub fn booked_on(&self) -> CivilDate {
        civil_date(self.booked_on_days)
    }

    /// Puts `amount` as a decimal number with two places into `text`, which is cleared first.
    pub fn amount(&self, text: &mut String) {
        text.clear();
        push_digits::<10>(text, self.amount_cents.unsigned_abs() / 100);
        text.push('.');
        push_digits::<2>(text, self.amount_cents.unsigned_abs());
    }

    /// Puts `booked_on` as `YYYY-MM-DD` into `text`, which is cleared first.
    pub fn booked_on_iso(&self, text: &mut String) {
        let CivilDate { year, month, day } = self.booked_on();
        text.clear();
        push_digits::<4>(text, year);
        text.push('-');
        push_digits::<2>(text, month);
        text.push('-');
        push_digits::<2>(text, day);
    }
}

/// Appends the last `N` decimal digits of `number`, with leading zeros.
fn push_digits<const N: usize>(text: &mut String, mut number: u64) {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text.extend(digits.iter().map(|&digit| char::from(digit)));
}

/// Date of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilDate {
    /// Year.
    pub year: u64,
    /// Month, 1 to 12.
    pub month: u64,
    /// Day of the month, 1 to 31.
    pub day: u64,
}

/// Date of a day since 1970-01-01, which is not before it.
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn civil_date(days: i64) -> CivilDate {
    let shifted = days.unsigned_abs() + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    CivilDate { year: year_of_era + era * 400 + u64::from(month <= 2), month, day }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 7 };

    #[test]
    fn row_counts_follow_the_nominal_size_in_steps() {
        assert_eq!(table_rows("big", 1.0), 1_000_000);
        assert_eq!(table_rows("small", 1.0), 32_000); // 31,250 is nearest to 4 x 8000
        assert_eq!(table_rows("big", 0.001), 48_000);
        assert_eq!(table_rows("small", 0.001), 16_000);
        assert!(table_rows("big", 1e9) <= MAX_ROWS);
    }

    #[test]
    fn row_one_has_the_values_computed_by_hand() {
        // h1 = 1327217885 + 12345 + 7 = 1327230237; h2 = (1327230237^2 + 1) mod (2^31 - 1) =
        // 1990276113.
        let row = ROWS.row(1);
        assert_eq!((row.h1, row.h2), (1_327_230_237, 1_990_276_113));
        assert_eq!((row.key25, row.key125, row.key320), (1, 1, 1));
        assert_eq!((row.region, row.amount_cents), (1 + 5, 1 + 903_779));
    }

    #[test]
    fn every_key_has_exactly_its_rows_and_all_in_different_blocks() {
        let hits: Vec<u64> = (1..=ROWS.table_rows).filter(|&id| ROWS.row(id).key320 == 7).collect();
        assert_eq!(hits.len(), 320);
        assert!(hits.windows(2).all(|pair| pair[1] - pair[0] == 50));
    }

    #[test]
    fn texts_have_a_fixed_width() {
        let mut text = String::new();
        for id in [1, 16_000, MAX_ROWS] {
            ROWS.row(id).code(&mut text);
            assert_eq!(text.len(), 32);
            assert_eq!(text[20..].parse::<u64>(), Ok(100_000_000_000 + id));
            ROWS.row(id).filler(&mut text);
            assert_eq!(text.len(), 180);
        }
    }

    #[test]
    fn dates_cover_24_months() {
        let mut text = String::new();
        let mut row = ROWS.row(1);
        for (days, iso) in
            [(0, "2024-01-01"), (59, "2024-02-29"), (366, "2025-01-01"), (730, "2025-12-31")]
        {
            row.booked_on_days = FIRST_DAY + days;
            row.booked_on_iso(&mut text);
            assert_eq!(text, iso);
        }
    }

    #[test]
    fn an_id_of_any_size_has_a_row_and_ids_of_a_table_have_the_values_of_the_formula() {
        // The first id whose product with the multiplier leaves 64 bits.
        let too_large = u64::MAX / MULTIPLIER + 1;
        assert!(too_large.checked_mul(MULTIPLIER).is_none());
        let modulus = u128::from(MODULUS);
        for id in [1, 16_000, MODULUS - 1, MODULUS, MAX_ROWS, too_large, 1 << 62] {
            let row = ROWS.row(id);
            let wide = u128::from(id);
            let h1 = (wide * u128::from(MULTIPLIER) + u128::from(INCREMENT) + 7) % modulus;
            assert_eq!(u128::from(row.h1), h1, "{id}");
            assert_eq!(u128::from(row.h2), (h1 * h1 + wide) % modulus, "{id}");
            assert_eq!(row.id as u64, id);
        }
    }

    #[test]
    fn the_hash_stays_below_63_bits_for_the_largest_table_and_seed() {
        // So SQL computes it, whose ids are those of a table; here an id is below the modulus.
        const { assert!(MAX_ROWS * MULTIPLIER + INCREMENT + MODULUS - 1 < 1 << 62) };
        const { assert!((MODULUS - 1) * (MODULUS - 1) + MAX_ROWS < 1 << 62) };
    }
}
