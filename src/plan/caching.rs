//! Can the workloads of a plan be what they say of the cache, at this size and with this cache: pure arithmetic.

use crate::model::rows::table_rows;
use crate::model::{Plan, Selection};

/// Bytes of a stored row on a server at least, and at most with its entries in the four indexes.
/// Source: measured at 1 GB, docs/decisions/0015-sizes-and-caches.md.
pub const LEAST_ROW_BYTES: f64 = 300.0;
pub const MOST_INDEXED_ROW_BYTES: f64 = 400.0;
/// A cached table with its indexes fills at most this share of the cache: the rest is for everything else.
pub const CACHED_SHARE: f64 = 0.9;
/// A table that is not cached is at least so many times the cache: then at most half of what is looked for can be there.
pub const NOT_CACHED_FACTOR: f64 = 2.0;

const ROWS_PER_GB: f64 = 1e6;
const SMALL_ROWS_PER_GB: f64 = ROWS_PER_GB / 32.0;

/// Least bytes of the big table at a nominal size.
pub fn big_bytes(size_gb: f64) -> f64 {
    table_rows("big", size_gb) as f64 * LEAST_ROW_BYTES
}

/// Most bytes of the small table and its indexes at a nominal size.
pub fn small_bytes(size_gb: f64) -> f64 {
    table_rows("small", size_gb) as f64 * MOST_INDEXED_ROW_BYTES
}

/// Smallest nominal size whose big table is not cached, rounded up.
pub fn least_gb(cache_bytes: f64) -> f64 {
    let size_gb = cache_bytes * NOT_CACHED_FACTOR / LEAST_ROW_BYTES / ROWS_PER_GB;
    let digit = 10_f64.powf(size_gb.log10().floor() - 1.0);
    // Without the last bits, which would make 1.2 of 12 x 0.1 more than that.
    ((size_gb / digit).ceil() * digit * 1e6).round() / 1e6
}

/// Largest nominal size whose small table is cached with its indexes, rounded down; none if the least table is too large.
pub fn most_gb(cache_bytes: f64) -> Option<f64> {
    let size_gb = cache_bytes * CACHED_SHARE / MOST_INDEXED_ROW_BYTES / SMALL_ROWS_PER_GB;
    let digit = 10_f64.powf(size_gb.log10().floor() - 1.0);
    let rounded = ((size_gb / digit).floor() * digit * 1e6).round() / 1e6;
    (small_bytes(rounded) <= cache_bytes * CACHED_SHARE).then_some(rounded)
}

/// One line if workloads of the plan cannot be what they say of the cache, with the figures and what to do.
pub fn cache_warning(plan: &Plan, cache_bytes: f64, profile: &str) -> Option<String> {
    let (big, small) = (big_bytes(plan.size_gb), small_bytes(plan.size_gb));
    let have = |bytes: f64| {
        format!("{} at {} GB, the cache of profile {profile} {}", mb(bytes), plan.size_gb, mb(cache_bytes))
    };
    let uncached = labels(plan, |selection| !selection.workload.evict.is_empty());
    let cached = labels(plan, |selection| !selection.workload.warm.is_empty());
    if big < cache_bytes * NOT_CACHED_FACTOR && !uncached.is_empty() {
        let (who, have, least_gb) = (few(&uncached), have(big), least_gb(cache_bytes));
        return Some(format!(
            "{who} may be invalid: the big table should be twice the cache or more and has {have}; take --size \
             {least_gb} or more"
        ));
    }
    if small > cache_bytes * CACHED_SHARE && !cached.is_empty() {
        let most_gb = most_gb(cache_bytes).map_or_else(String::new, |most_gb| format!("--size {most_gb} or less, or "));
        let (who, have) = (few(&cached), have(small));
        return Some(format!(
            "{who} may be invalid: the small table should lie in the cache with its indexes and has {have}; take \
             {most_gb}another --profile"
        ));
    }
    None
}

/// Names of the tests that are meant, each once.
fn labels(plan: &Plan, meant: impl Fn(&Selection) -> bool) -> Vec<&str> {
    let mut labels = Vec::new();
    for selection in plan.selections.iter().filter(|selection| meant(selection)) {
        let label = selection.asked_as.as_deref().unwrap_or(&selection.workload.id);
        if !labels.contains(&label) {
            labels.push(label);
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
    use super::*;
    use crate::catalog::Catalog;
    use crate::engine::ENGINES;
    use crate::plan::{Request, build};

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn a_profiles_cache_is_that_of_its_engines() {
        for profile in Catalog::embedded().unwrap().profiles() {
            let setting = |engine: &str, name: &str, unit: &str| {
                profile.settings[engine][name].trim_end_matches(unit).parse::<f64>().ok()
            };
            assert_eq!(setting("postgres", "shared_buffers", "MB"), profile.cache_mb, "{}", profile.id);
            assert_eq!(setting("mariadb", "innodb_buffer_pool_size", "M"), profile.cache_mb, "{}", profile.id);
            let eighth = profile.cache_mb.unwrap() / 8.0;
            assert_eq!(profile.cache_bytes("sqlite"), Some(eighth.floor() * MIB), "{}", profile.id);
        }
    }

    /// Where a profile's own size breaks a rule, its file says which sizes keep it.
    #[test]
    fn every_profile_keeps_both_rules_on_every_engine_at_its_size_or_says_at_which() {
        for profile in Catalog::embedded().unwrap().profiles() {
            let text = std::fs::read_to_string(format!("catalog/profiles/{}.toml", profile.id)).unwrap();
            for engine in profile.settings.keys() {
                let cache = profile.cache_bytes(engine).unwrap();
                let place = format!("{} on {engine}", profile.id);
                if small_bytes(profile.size_gb) > cache * CACHED_SHARE {
                    assert!(text.contains(&format!("--size {} or less", most_gb(cache).unwrap())), "{place}");
                }
                if big_bytes(profile.size_gb) < cache * NOT_CACHED_FACTOR {
                    let most = profile.settings.keys().filter_map(|engine| profile.cache_bytes(engine));
                    let least_gb = least_gb(most.fold(0.0, f64::max));
                    assert!(text.contains(&format!("--size {least_gb} or more")), "{place}: {least_gb}");
                }
            }
        }
    }

    #[test]
    fn the_notebooks_small_table_lies_in_the_cache_of_a_server() {
        let catalog = Catalog::embedded().unwrap();
        for profile in catalog.profiles() {
            for engine in ["postgres", "mariadb"] {
                let cache = profile.cache_bytes(engine).unwrap();
                assert!(small_bytes(profile.size_gb) <= cache * CACHED_SHARE, "{} on {engine}", profile.id);
            }
        }
    }

    #[test]
    fn no_suite_of_ours_makes_its_own_conditions_impossible() {
        let catalog = Catalog::embedded().unwrap();
        for suite in catalog.suites() {
            let profile = catalog.profile(suite.profile.as_deref().unwrap_or("XS")).unwrap();
            for engine in ENGINES.iter().filter(|engine| engine.is_target()) {
                let request = Request {
                    suites: vec![suite.id.clone()],
                    size_gb: suite.size_gb.or(Some(profile.size_gb)),
                    ..Request::new(engine.name(), engine.capabilities(), 4)
                };
                let plan = build(&catalog, &request).unwrap();
                let cache = profile.cache_bytes(engine.name()).unwrap();
                assert_eq!(cache_warning(&plan, cache, &profile.id), None, "{} on {}", suite.id, engine.name());
            }
        }
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
}
