//! The part of an address behind the question mark.

use form_urlencoded::Serializer;

/// Names and values in order; a name may stand several times. Values without a text are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// From its text.
    pub fn parse(text: &str) -> Query {
        let pairs =
            form_urlencoded::parse(text.as_bytes()).filter(|(_, value)| !value.trim().is_empty());
        Query(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// From names and values.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Query {
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        Query(pairs.map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    /// Every value of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    /// The number that a name has, if it has one.
    ///
    /// # Errors
    /// The text that was given in its place.
    pub fn number(&self, name: &str) -> Result<Option<u32>, String> {
        let number = |text: &str| text.parse().map_err(|_| text.to_string());
        self.get(name).map(number).transpose()
    }

    /// `?a=b&c=d` without a name; empty without any.
    pub fn without(&self, name: &str) -> String {
        let kept = self.0.iter().filter(|pair| pair.0 != name);
        let text = Serializer::new(String::new()).extend_pairs(kept).finish();
        if text.is_empty() { text } else { format!("?{text}") }
    }

    /// `?a=b&c=d`; empty without any.
    pub fn text(&self) -> String {
        self.without("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_stand_several_times_and_texts_survive() {
        let query = Query::parse("run=1&run=2&q=a+%26%20b&empty=&jobs=4");
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!((query.get("q"), query.get("empty")), (Some("a & b"), None));
        assert_eq!(
            (query.number("jobs"), query.number("q"), query.number("n")),
            (Ok(Some(4)), Err("a & b".into()), Ok(None))
        );
        assert_eq!(query.without("run"), "?q=a+%26+b&jobs=4");
        assert_eq!(Query::parse(query.text().trim_start_matches('?')), query);
        assert_eq!(Query::from_pairs([("a", "1".into()), ("b", String::new())]).text(), "?a=1");
        assert_eq!(Query::parse("%ff%00&&&=").text(), "");
    }
}
