//! Parameters as they are shown everywhere.

/// `name=value` of each, with `between` in between.
pub fn assignments<'a>(params: impl IntoIterator<Item = (&'a String, &'a String)>, between: &str) -> String {
    params.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(between)
}
