//! The tables of a plan and the cache of the database: can the workloads be what they say of it.
//! Pure arithmetic.

use dbdyno_core::model::rows::table_rows;
use dbdyno_core::model::{Plan, Selection};

/// Bytes of a stored row on a server at least, and at most with its entries in the four indexes.
/// Source: measured at 1 GB, docs/decisions/0015-sizes-and-caches.md.
pub const MIN_ROW_BYTES: f64 = 300.0;
pub(crate) const MAX_INDEXED_ROW_BYTES: f64 = 400.0;
/// A cached table with its indexes fills at most this share of the cache: the rest is for
/// everything else.
pub const CACHED_SHARE: f64 = 0.9;
/// A table that is not cached is at least so many times the cache: then at most half of what is
/// looked for can be there.
pub const NOT_CACHED_FACTOR: f64 = 2.0;

const ROWS_PER_GB: f64 = 1e6;
const SMALL_ROWS_PER_GB: f64 = ROWS_PER_GB / 32.0;

/// Least bytes of the big table at a nominal size.
pub fn big_bytes(size_gb: f64) -> f64 {
    table_rows("big", size_gb) as f64 * MIN_ROW_BYTES
}

/// Most bytes of the small table and its indexes at a nominal size.
pub fn small_bytes(size_gb: f64) -> f64 {
    table_rows("small", size_gb) as f64 * MAX_INDEXED_ROW_BYTES
}

/// Smallest nominal size whose big table is not cached, rounded up.
pub fn least_gb(cache_bytes: f64) -> f64 {
    let size_gb = cache_bytes * NOT_CACHED_FACTOR / MIN_ROW_BYTES / ROWS_PER_GB;
    let digit = 10_f64.powf(size_gb.log10().floor() - 1.0);
    // Without the last bits, which would make 1.2 of 12 x 0.1 more than that.
    ((size_gb / digit).ceil() * digit * 1e6).round() / 1e6
}

/// Largest nominal size whose small table is cached with its indexes, rounded down; none if the
/// least table is too large.
pub fn most_gb(cache_bytes: f64) -> Option<f64> {
    let size_gb = cache_bytes * CACHED_SHARE / MAX_INDEXED_ROW_BYTES / SMALL_ROWS_PER_GB;
    let digit = 10_f64.powf(size_gb.log10().floor() - 1.0);
    let rounded = ((size_gb / digit).floor() * digit * 1e6).round() / 1e6;
    (small_bytes(rounded) <= cache_bytes * CACHED_SHARE).then_some(rounded)
}

/// One line if workloads of the plan cannot be what they say of the cache, with the figures and
/// what to do. `whose` is the cache in words (`the server's cache`), `another` what would be one
/// that fits.
pub fn cache_warning(plan: &Plan, cache_bytes: f64, whose: &str, another: &str) -> Option<String> {
    let (big, small) = (big_bytes(plan.size_gb), small_bytes(plan.size_gb));
    let have =
        |bytes: f64| format!("{} at {} GB, {whose} {}", mb(bytes), plan.size_gb, mb(cache_bytes));
    let uncached = labels(plan, |selection| !selection.workload.evict.is_empty());
    let cached = labels(plan, |selection| !selection.workload.warm.is_empty());
    if big < cache_bytes * NOT_CACHED_FACTOR && !uncached.is_empty() {
        let (who, have, least_gb) = (few(&uncached), have(big), least_gb(cache_bytes));
        return Some(format!(
            "{who} may be invalid: the big table should be twice the cache or more and has {have}; \
             use --size {least_gb} or more"
        ));
    }
    if small > cache_bytes * CACHED_SHARE && !cached.is_empty() {
        let most_gb = most_gb(cache_bytes)
            .map_or_else(String::new, |most_gb| format!("--size {most_gb} or less, or "));
        let (who, have) = (few(&cached), have(small));
        return Some(format!(
            "{who} may be invalid: the small table with its indexes should fit the cache and has \
             {have}; use {most_gb}{another}"
        ));
    }
    None
}

/// Names of the tests that are meant, each once.
fn labels(plan: &Plan, meant: impl Fn(&Selection) -> bool) -> Vec<&str> {
    let mut labels = Vec::new();
    for selection in plan.selections.iter().filter(|selection| meant(selection)) {
        if !labels.contains(&selection.label()) {
            labels.push(selection.label());
        }
    }
    labels
}

/// The first three, and how many there are besides.
fn few(labels: &[&str]) -> String {
    match labels.len() {
        0..=3 => labels.join(", "),
        many => format!("{} and {} more", labels[..3].join(", "), many - 3),
    }
}

/// Bytes in units of 10^6.
fn mb(bytes: f64) -> String {
    format!("{:.0} MB", bytes / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, selection};
    use super::*;
    use dbdyno_core::model::Ramp;

    const MIB: f64 = 1_048_576.0;

    fn warning(plan: &Plan, cache_bytes: f64, profile: &str) -> Option<String> {
        cache_warning(
            plan,
            cache_bytes,
            &format!("the cache of profile {profile}"),
            "another --profile",
        )
    }

    #[test]
    fn sizes_that_fit_are_two_digits_on_the_safe_side() {
        // 128 MiB = 134.2 MB: twice that are 894,785 rows of 300 bytes.
        assert_eq!(least_gb(128.0 * MIB), 0.9);
        assert!(big_bytes(0.9) >= 2.0 * 128.0 * MIB && big_bytes(0.88) < 2.0 * 128.0 * MIB);
        // 600 MiB x 0.9 = 566 MB: 1,415,577 rows of 400 bytes = 45.3 GB.
        assert_eq!(most_gb(600.0 * MIB), Some(45.0));
        assert_eq!(least_gb(20_000.0 * MIB), 140.0);
        assert_eq!(most_gb(1.0 * MIB), None, "16,000 rows are the least");
    }
    /// A plan of one workload with its table in the cache, or out of it.
    fn caching(id: &str, size_gb: f64) -> Plan {
        let mut selection = selection(id, Ramp::Fixed(vec![1]), 1);
        match id {
            "C-IN" => selection.workload.warm = vec!["small".into()],
            _ => selection.workload.evict = vec!["big".into()],
        }
        Plan { size_gb, ..plan(vec![selection]) }
    }

    #[test]
    fn a_size_that_makes_a_workloads_condition_impossible_is_said_in_one_line() {
        let cache = 128.0 * MIB;
        assert_eq!(
            warning(&caching("C-OUT", 0.25), cache, "XS").unwrap(),
            "C-OUT may be invalid: the big table should be twice the cache or more and has 74 MB \
             at 0.25 GB, the cache of profile XS 134 MB; use --size 0.9 or more"
        );
        assert_eq!(warning(&caching("C-OUT", 1.0), cache, "XS"), None);
        assert_eq!(
            warning(&caching("C-IN", 0.25), cache, "XS"),
            None,
            "it does not use the big table"
        );
        let line = warning(&caching("C-IN", 64.0), 600.0 * MIB, "N").unwrap();
        assert!(
            line.contains("C-IN may be invalid") && line.contains("has 800 MB at 64 GB"),
            "{line}"
        );
        assert!(
            line.ends_with(
                "the cache of profile N 629 MB; use --size 45 or less, or another --profile"
            ),
            "{line}"
        );
        assert_eq!(warning(&caching("C-OUT", 64.0), 600.0 * MIB, "N"), None);
        let line = warning(&caching("C-IN", 0.1), MIB, "TINY").unwrap();
        assert!(line.ends_with("use another --profile"), "{line}");
    }
}
