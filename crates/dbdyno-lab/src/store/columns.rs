//! Between a model type and a table row, driven by declared columns: every scalar a reader may
//! query has a column of its own, and what has none is kept in the JSON column `rest`, so that no
//! field of the model is ever lost.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use dbdyno_engines::engine::results_backend::SqlValue;

/// Form in which a column holds its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Number or text as it is; an absent value is NULL.
    Plain,
    /// 0 or 1.
    Bool,
    /// JSON text.
    Json,
}

/// A column and the place of its value in the document of the model type.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub name: &'static str,
    /// Keys from the document's root, e.g. `["latency", "p50_us"]`.
    pub path: &'static [&'static str],
    pub form: Form,
}

/// A table that holds one model type per row, besides its key columns.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    /// Columns that are not part of the model type: ids and positions.
    pub keys: &'static [&'static str],
    pub columns: &'static [Column],
}

/// Result with the text of what cannot be stored or read.
pub type Result<T> = std::result::Result<T, String>;

impl Table {
    /// `INSERT` of one row: keys first, then the columns, then `rest`.
    pub fn insert_sql(&self) -> String {
        let names = self.names(self.keys);
        let marks: Vec<String> = (1..=names.len()).map(|position| format!("?{position}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", self.name, names.join(", "), marks.join(", "))
    }

    /// `SELECT` as [`Table::select_sql`], with a key in front.
    pub fn select_with_sql(&self, key: &str, tail: &str) -> String {
        format!("SELECT {key}, {} FROM {} {tail}", self.names(&[]).join(", "), self.name)
    }

    /// `SELECT` as [`Table::select_with_sql`], with JSON's null instead of a column that is not
    /// wanted.
    pub fn select_without_sql(&self, unwanted: &str, key: &str, tail: &str) -> String {
        let names =
            self.names(&[]).into_iter().map(|name| if name == unwanted { "'null'" } else { name });
        format!("SELECT {key}, {} FROM {} {tail}", names.collect::<Vec<_>>().join(", "), self.name)
    }

    /// `UPDATE` of every column but the keys, for the row whose `id` is the last parameter.
    pub fn update_sql(&self) -> String {
        let names = self.names(&[]);
        let sets: Vec<String> =
            names.iter().zip(1..).map(|(name, position)| format!("{name} = ?{position}")).collect();
        format!("UPDATE {} SET {} WHERE id = ?{}", self.name, sets.join(", "), names.len() + 1)
    }

    /// `SELECT` of the columns and `rest`, in the order that [`Table::read`] expects, then `tail`
    /// (`WHERE ...`).
    pub fn select_sql(&self, tail: &str) -> String {
        format!("SELECT {} FROM {} {tail}", self.names(&[]).join(", "), self.name)
    }

    fn names(&self, keys: &[&'static str]) -> Vec<&'static str> {
        let columns = self.columns.iter().map(|column| column.name);
        keys.iter().copied().chain(columns).chain(["rest"]).collect()
    }

    /// The row's values, in the order of [`Table::insert_sql`], after `keys`.
    ///
    /// # Errors
    /// If the item is not a JSON object or lacks a declared field (a mistake in the declaration).
    pub fn values<T: Serialize>(&self, keys: &[SqlValue], item: &T) -> Result<Vec<SqlValue>> {
        let mut document = serde_json::to_value(item).map_err(|error| error.to_string())?;
        drop_unknown_counters(&mut document);
        let mut values = keys.to_vec();
        for column in self.columns {
            let value = take(&mut document, column.path)
                .ok_or_else(|| format!("no field {:?}", column.path))?;
            values.push(to_sql(value, column)?);
        }
        values.push(SqlValue::Text(document.to_string()));
        Ok(values)
    }

    /// The item from a row of [`Table::select_sql`].
    ///
    /// # Errors
    /// If the row does not hold what the schema says.
    pub fn read<T: DeserializeOwned>(&self, mut row: Vec<SqlValue>) -> Result<T> {
        let rest = row.pop();
        let rest = rest.as_ref().and_then(SqlValue::text).unwrap_or_default();
        let mut document: Value =
            serde_json::from_str(rest).map_err(|error| format!("{}.rest: {error}", self.name))?;
        for (value, column) in row.into_iter().zip(self.columns) {
            let value = from_sql(value, column)
                .map_err(|error| format!("{}.{}: {error}", self.name, column.name))?;
            put(&mut document, column.path, value);
        }
        serde_json::from_value(document).map_err(|error| format!("{}: {error}", self.name))
    }
}

/// JSON writes a figure that is not a number as null; a counter without a value is absent instead.
fn drop_unknown_counters(document: &mut Value) {
    for name in ["counters", "window_counters", "metrics", "facts"] {
        if let Some(Value::Object(counters)) = document.get_mut(name) {
            counters.retain(|_, value| !value.is_null());
        }
    }
}

/// Takes the value at `path` out of the document; the last key vanishes from it.
fn take(document: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let mut place = document;
    for key in parents {
        place = place.get_mut(key)?;
    }
    place.as_object_mut()?.remove(*last)
}

/// Puts a value back to where [`take`] found it.
fn put(document: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut place = document;
    for key in parents {
        place = object(place).entry(*key).or_insert(Value::Null);
    }
    object(place).insert((*last).into(), value);
}

/// The value as an object, made one if it is none.
fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("made an object just above")
}

fn to_sql(value: Value, column: &Column) -> Result<SqlValue> {
    if column.form == Form::Json {
        return Ok(SqlValue::Text(value.to_string()));
    }
    match value {
        Value::Null => Ok(SqlValue::Null),
        Value::Bool(flag) => Ok(SqlValue::Integer(flag.into())),
        Value::String(text) => Ok(SqlValue::Text(text)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Ok(SqlValue::Integer(integer)),
            (None, Some(real)) if number.is_f64() => Ok(SqlValue::Real(real)),
            _ => Err(format!("{} = {number} is too large", column.name)),
        },
        Value::Array(_) | Value::Object(_) => Err(format!("{} is not a single value", column.name)),
    }
}

fn from_sql(value: SqlValue, column: &Column) -> Result<Value> {
    match (value, column.form) {
        (SqlValue::Null, _) => Ok(Value::Null),
        (SqlValue::Integer(integer), Form::Bool) => Ok(Value::Bool(integer != 0)),
        (SqlValue::Integer(integer), _) => Ok(integer.into()),
        (SqlValue::Real(real), _) => Ok(real.into()),
        (SqlValue::Text(text), Form::Json) => {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        }
        (SqlValue::Text(text), _) => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn take_and_put_are_inverse() {
        let before = json!({"a": 1, "b": {"c": 2.5, "d": [1]}});
        let mut document = before.clone();
        let value = take(&mut document, &["b", "c"]).unwrap();
        assert_eq!(document, json!({"a": 1, "b": {"d": [1]}}));
        put(&mut document, &["b", "c"], value);
        assert_eq!(document, before);
    }

    #[test]
    fn a_missing_field_is_an_error_not_a_null() {
        let column = Column { name: "x", path: &["x"], form: Form::Plain };
        let table = Table { name: "t", keys: &[], columns: Box::leak(Box::new([column])) };
        assert!(table.values(&[], &json!({"y": 1})).is_err());
    }

    #[test]
    fn counters_without_a_value_are_left_out() {
        let mut document = json!({"counters": {"a": null, "b": 1.0}});
        drop_unknown_counters(&mut document);
        assert_eq!(document, json!({"counters": {"b": 1.0}}));
    }
}
