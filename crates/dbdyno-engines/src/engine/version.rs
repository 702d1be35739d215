//! Versions of servers and libraries.

use std::fmt;

/// A version compared by its numbers: 15.18 > 13.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Version(pub Vec<u32>);

impl Version {
    /// Reads the leading dotted numbers of a text: `15.18 (Debian ...)` is 15.18.
    pub fn parse(text: &str) -> Version {
        let head: String =
            text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        Version(head.split('.').filter_map(|part| part.parse().ok()).collect())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_not_by_text() {
        assert!(Version::parse("15.18 (Debian 15.18-0+deb12u1)") > Version::parse("9.6.24"));
        assert_eq!(Version::parse("18beta1"), Version(vec![18]));
    }
}
