//! `:name` binds to the positional placeholders of an engine.

use std::ops::Range;

use super::scan::{code_ranges, is_word};
use crate::model::Placeholder;

/// A statement with positional placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Statement with the engine's placeholders.
    pub sql: String,
    /// Bind name per position.
    pub binds: Vec<String>,
}

/// Replaces every `:name` of `sql` by a placeholder of `style`.
///
/// A colon is not a bind in strings, quoted identifiers, comments and dollar quotes, nor in `::`
/// and `:=`, nor directly after a word (`a[lo:hi]`).
pub fn bind(sql: &str, style: Placeholder) -> Bound {
    let mut bound = Bound { sql: String::with_capacity(sql.len()), binds: Vec::new() };
    let mut copied = 0;
    for Range { start, end } in bind_ranges(sql) {
        bound.sql.push_str(&sql[copied..start]);
        let placeholder = placeholder(&mut bound.binds, &sql[start + 1..end], style);
        bound.sql.push_str(&placeholder);
        copied = end;
    }
    bound.sql.push_str(&sql[copied..]);
    bound
}

/// Names of the binds in `sql`, each once, in order.
pub fn bind_names(sql: &str) -> Vec<String> {
    bind(sql, Placeholder::QuestionNumber).binds
}

/// The placeholder for a bind, which is added to `binds` unless it can use the position of an
/// earlier one of the same name.
fn placeholder(binds: &mut Vec<String>, name: &str, style: Placeholder) -> String {
    let repeats = matches!(style, Placeholder::Question | Placeholder::Colon);
    let known = binds.iter().position(|known| known == name).filter(|_| !repeats);
    let number = known.unwrap_or_else(|| {
        binds.push(name.to_string());
        binds.len() - 1
    }) + 1;
    match style {
        Placeholder::Dollar => format!("${number}"),
        Placeholder::QuestionNumber => format!("?{number}"),
        Placeholder::Question => "?".to_string(),
        Placeholder::Colon => format!(":{number}"),
        Placeholder::Braces => format!("{{p{number}:Int64}}"),
    }
}

/// Byte ranges of the binds, colon included.
fn bind_ranges(sql: &str) -> Vec<Range<usize>> {
    code_ranges(sql)
        .into_iter()
        .flat_map(|range| {
            let colons: Vec<_> =
                sql[range.clone()].match_indices(':').map(|(at, _)| range.start + at).collect();
            colons
                .into_iter()
                .filter_map(move |colon| Some(colon..bind_end(sql, colon, range.end)?))
        })
        .collect()
}

fn bind_end(sql: &str, colon: usize, limit: usize) -> Option<usize> {
    let before = sql[..colon].chars().next_back();
    if before.is_some_and(|c| c == ':' || is_word(c)) {
        return None;
    }
    let rest = &sql[colon + 1..limit];
    let starts_name = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    starts_name.then_some(colon + 1 + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollar(sql: &str) -> (String, Vec<String>) {
        let bound = bind(sql, Placeholder::Dollar);
        (bound.sql, bound.binds)
    }

    #[test]
    fn numbers_binds_in_order_of_first_use() {
        let (sql, binds) = dollar("where a = :key and b < :n and c = :key");
        assert_eq!(sql, "where a = $1 and b < $2 and c = $1");
        assert_eq!(binds, ["key", "n"]);
    }

    #[test]
    fn question_styles_number_or_repeat() {
        assert_eq!(bind("(:a, :b, :a)", Placeholder::QuestionNumber).sql, "(?1, ?2, ?1)");
        let in_braces = bind("(:a, :b, :a)", Placeholder::Braces).sql;
        assert_eq!(in_braces, "({p1:Int64}, {p2:Int64}, {p1:Int64})");
        assert_eq!(bind("(:a, :b, :a)", Placeholder::Colon).sql, "(:1, :2, :3)");
        let repeated = bind("(:a, :b, :a)", Placeholder::Question);
        assert_eq!((repeated.sql.as_str(), repeated.binds.len()), ("(?, ?, ?)", 3));
    }

    #[test]
    fn casts_assignments_and_quotes_are_no_binds() {
        for sql in [
            "x::int",
            "v := 1",
            "':a'",
            "\":a\"",
            "-- :a",
            "/* :a */ 1",
            "$$ :a $$",
            "$q$ :a $q$",
            "a[lo:hi]",
            "12:30",
        ] {
            assert_eq!(dollar(sql), (sql.to_string(), vec![]), "{sql}");
        }
    }

    #[test]
    fn a_bind_may_be_cast_and_stand_next_to_operators() {
        assert_eq!(dollar("x=:a::int+:b").0, "x=$1::int+$2");
        assert_eq!(bind_names("'x'||:tail"), ["tail"]);
    }
}
