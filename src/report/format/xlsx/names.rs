//! Names of sheets: at most 31 characters, some characters are forbidden, and no two may be equal.

/// The longest name, in characters.
const LONGEST: usize = 31;

/// The names given so far.
#[derive(Default)]
pub struct Names(Vec<String>);

impl Names {
    /// A permitted name for a sheet with this title, unlike all before.
    pub fn add(&mut self, title: &str) -> String {
        let clean = clean(title);
        let mut name = shortened(&clean, LONGEST);
        let mut number = 1;
        while self.0.iter().any(|known| known.to_lowercase() == name.to_lowercase()) {
            number += 1;
            let ending = format!(" ({number})");
            name = shortened(&clean, LONGEST - ending.len()) + &ending;
        }
        self.0.push(name.clone());
        name
    }
}

fn clean(title: &str) -> String {
    let permitted = |character: char| if r"[]:*?/\".contains(character) { ' ' } else { character };
    let plain: String = title.chars().map(permitted).collect();
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = words.trim_matches('\'').trim();
    // `History` is reserved.
    if name.is_empty() || name.eq_ignore_ascii_case("history") {
        format!("Sheet {name}").trim().into()
    } else {
        name.into()
    }
}

fn shortened(name: &str, length: usize) -> String {
    let mut used = 0;
    // A workbook counts UTF-16 units.
    let fits = |character: &char| {
        used += character.len_utf16();
        used <= length
    };
    name.chars().take_while(fits).collect::<String>().trim_end_matches([' ', '\'']).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_permitted_and_unique() {
        let mut names = Names::default();
        assert_eq!(names.add("Run 7: Platform [a/b]"), "Run 7 Platform a b");
        assert_eq!(names.add("run 7: platform [a/b]"), "run 7 platform a b (2)");
        assert_eq!(names.add(""), "Sheet");
        assert_eq!(names.add("History"), "Sheet History");
        let long = names.add("server: SQL on cached data, a very long title (SRV)");
        assert_eq!(long, "server SQL on cached data, a ve");
        assert_eq!(
            names.add("server: SQL on cached data, a very long title (TP)"),
            "server SQL on cached data,  (2)".replace("  ", " ")
        );
        assert!(names.add(&"\u{1f600}".repeat(20)).encode_utf16().count() <= LONGEST);
    }
}
