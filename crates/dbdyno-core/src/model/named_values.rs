//! Values by name, for points that follow one another and have mostly the same names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::counters::Counters;
use super::result::SeriesPoint;

/// Names in ascending order, shared by all that have the same.
pub type Names = Arc<[String]>;

/// A source of values by name.
pub trait Named {
    /// The value of `name`, if it is known.
    fn get(&self, name: &str) -> Option<f64>;
}

impl Named for Counters {
    fn get(&self, name: &str) -> Option<f64> {
        Counters::get(self, name)
    }
}

/// Values by name: in memory a number each, since the names are shared; written as a map of those
/// that are known.
#[derive(Clone, Default)]
pub struct NamedValues {
    names: Names,
    /// One per name; not a number = unknown.
    values: Box<[f64]>,
}

impl NamedValues {
    /// Values of these names, which are in ascending order; not a number = unknown.
    pub fn new(names: &Names, values: Box<[f64]>) -> Self {
        debug_assert!(names.len() == values.len() && names.is_sorted());
        NamedValues { names: Arc::clone(names), values }
    }
    /// The known values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        let all = self.names.iter().zip(&self.values).filter(|(_, value)| !value.is_nan());
        all.map(|(name, value)| (name.as_str(), *value))
    }
    /// True if nothing is known.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl Named for NamedValues {
    fn get(&self, name: &str) -> Option<f64> {
        let at = self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        Some(self.values[at]).filter(|value| !value.is_nan())
    }
}

impl FromIterator<(String, f64)> for NamedValues {
    fn from_iter<I: IntoIterator<Item = (String, f64)>>(pairs: I) -> Self {
        let sorted: BTreeMap<String, f64> = pairs.into_iter().collect();
        let (names, values): (Vec<String>, Vec<f64>) = sorted.into_iter().unzip();
        NamedValues { names: names.into(), values: values.into() }
    }
}

impl From<Counters> for NamedValues {
    fn from(counters: Counters) -> Self {
        counters.0.into_iter().collect()
    }
}

impl From<&NamedValues> for Counters {
    fn from(values: &NamedValues) -> Self {
        Counters(values.iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl PartialEq for NamedValues {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for NamedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for NamedValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for NamedValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Lists of names that points have in common.
#[derive(Debug, Default)]
pub struct SharedNames(BTreeSet<Names>);

impl SharedNames {
    /// The same values, whose list of names is that of others with these names.
    pub fn share(&mut self, values: NamedValues) -> NamedValues {
        let names = match self.0.get(&values.names) {
            Some(names) => Arc::clone(names),
            None => {
                self.0.insert(Arc::clone(&values.names));
                return values;
            }
        };
        NamedValues { names, ..values }
    }
}

/// The points of a series, which share their names.
///
/// # Errors
/// Those of the deserializer.
pub fn read_series<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SeriesPoint>, D::Error> {
    deserializer.deserialize_seq(Series)
}

struct Series;

impl<'de> Visitor<'de> for Series {
    type Value = Vec<SeriesPoint>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of seconds")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut names, mut points) = (SharedNames::default(), Vec::new());
        while let Some(point) = list.next_element::<SeriesPoint>()? {
            let (metrics, sessions) = (names.share(point.metrics), names.share(point.sessions));
            points.push(SeriesPoint { metrics, sessions, ..point });
        }
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_absent_and_the_text_is_that_of_a_map() {
        let names: Names = ["a", "b", "c"].map(String::from).into();
        let values = NamedValues::new(&names, [1.0, f64::NAN, 3.5].into());
        assert_eq!((values.get("a"), values.get("b"), values.get("d")), (Some(1.0), None, None));
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"{"a":1.0,"c":3.5}"#);
        assert_eq!(serde_json::from_str::<NamedValues>(&text).unwrap(), values);
        assert_eq!(serde_json::to_string(&Counters::from(&values)).unwrap(), text);
    }
}
