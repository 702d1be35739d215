//! Parts of a setup that are known only when a test starts: its number of jobs, and the vectors
//! that it sends.

use crate::model::vectors::{VectorData, VectorRow};

/// Names that stay open in a plan.
pub const LATE: &[&str] = &["jobs"];
/// Late placeholders of a workload with vectors.
pub const LATE_WITH_VECTORS: &[&str] =
    &["jobs", EACH_ROW, EACH_QUERY, EACH_ADDED, END, "id", "grp", "vector", "truth"];
const EACH_ROW: &str = "each_row";
const EACH_QUERY: &str = "each_query";
const EACH_ADDED: &str = "each_added";
const END: &str = "end";
/// Rows that one statement sends: some 100 kB.
const ROWS_PER_STATEMENT: usize = 200;

/// Statements for one statement of a setup: itself, or one for each batch of vectors, which are
/// separated by commas.
pub fn with_vectors<'a>(
    sql: String,
    vectors: Option<&'a VectorData>,
) -> Box<dyn Iterator<Item = String> + 'a> {
    let repeated = vectors.and_then(|data| Some((data, RepeatedText::parse(&sql)?)));
    match repeated {
        None => Box::new(std::iter::once(sql)),
        Some((data, repeated)) => repeated.statements(data),
    }
}

/// True if a statement sends vectors.
pub fn sends_vectors(sql: &str) -> bool {
    RepeatedText::parse(sql).is_some()
}

/// A statement with a text in it that is repeated for each vector.
struct RepeatedText {
    of: &'static str,
    before: String,
    each: String,
    after: String,
}

impl RepeatedText {
    fn parse(sql: &str) -> Option<RepeatedText> {
        [EACH_ROW, EACH_QUERY, EACH_ADDED].into_iter().find_map(|of| {
            let (before, rest) = sql.split_once(&mark(of))?;
            let (each, after) = rest.split_once(&mark(END))?;
            let [before, each, after] = [before, each, after].map(String::from);
            Some(RepeatedText { of, before, each, after })
        })
    }

    fn statements<'a>(self, data: &'a VectorData) -> Box<dyn Iterator<Item = String> + 'a> {
        let mut rows: Box<dyn Iterator<Item = VectorRow> + 'a> = match self.of {
            EACH_ROW => Box::new(data.rows()),
            EACH_QUERY => Box::new(data.queries()),
            _ => Box::new(data.vectors_to_add()),
        };
        Box::new(std::iter::from_fn(move || {
            let some = rows.by_ref().take(ROWS_PER_STATEMENT).map(|row| self.with(&row));
            let some: Vec<String> = some.collect();
            let text = || format!("{}{}{}", self.before, some.join(",\n"), self.after);
            (!some.is_empty()).then(text)
        }))
    }

    /// The repeated text with a row's values.
    fn with(&self, row: &VectorRow) -> String {
        let vector: Vec<String> = row.vector.iter().map(i16::to_string).collect();
        let values = [
            ("id", row.id.to_string()),
            ("grp", row.group.to_string()),
            ("truth", row.truth.to_string()),
            ("vector", vector.join(",")),
        ];
        values
            .iter()
            .fold(self.each.clone(), |text, (name, value)| text.replace(&mark(name), value))
    }
}

fn mark(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::vectors::VectorSet;

    #[test]
    fn a_text_is_repeated_for_each_vector_in_statements_of_some() {
        let set = VectorSet { rows: 450, queries: 2, near: 1, share_pct: 100, added: 0 };
        let data = VectorData::new(set, 42);
        let sql =
            "insert into t values {{each_row}}({{id}}, {{grp}}, '[{{vector}}]'){{end}} -- end";
        assert!(sends_vectors(sql) && !sends_vectors("create table t (jobs int)"));
        let statements: Vec<String> = with_vectors(sql.into(), Some(&data)).collect();
        assert_eq!(statements.len(), 3);
        assert!(statements[0].starts_with("insert into t values (1, 2, '[25,58,30,2,-10,69,4,59,"));
        assert!(statements[2].ends_with("]') -- end"));
        let sent: usize = statements.iter().map(|sql| sql.matches(", '[").count()).sum();
        assert_eq!(sent, 450);
        let queries: Vec<String> =
            with_vectors("{{each_query}}{{id}}{{end}}".into(), Some(&data)).collect();
        assert_eq!(queries, ["1,\n2"]);
        let plain: Vec<String> = with_vectors("create".into(), Some(&data)).collect();
        assert_eq!(plain, ["create"]);
    }
}
