//! Additions of a user to a report: a brand (logo, name, accent, footer) on its pages, and the
//! user's own paragraphs. These are marked as added, so that nobody takes them for results.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::document::{Block, Document, Section};
use super::shade::{Rgb, WHITE};
use dbdyno_core::error::{TextError, visible};

/// Maximum size of a logo in bytes: it is in every page.
pub const MAX_LOGO_BYTES: usize = 200_000;
/// Most characters of name and footer.
const MAX_LETTERS: usize = 200;
/// Contrast that text needs (WCAG 2.2, 1.4.3).
const READABLE: f64 = 4.5;
/// Light paper of the page.
const LIGHT_PAPER: Rgb = WHITE;
/// Dark paper of the page.
const DARK_PAPER: Rgb = Rgb::new(0x12, 0x16, 0x1b);
/// Steps from an accent to white, in which it is made lighter.
const LIGHTER_STEPS: u8 = 20;

/// A brand as its file says it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrandFile {
    /// Name of the organization above the title of a page.
    pub name: Option<String>,
    /// Path of the logo, from the directory of the file.
    pub logo: Option<String>,
    /// `#rrggbb`.
    accent: Option<String>,
    footer: Option<String>,
}

/// A brand as pages show it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brand {
    /// Name of the organization above the title; none where the logo stands alone.
    pub name: Option<String>,
    /// Data URI.
    pub logo: Option<String>,
    /// `#rrggbb` on light and on dark paper.
    pub accent: Option<[String; 2]>,
    /// Line at the end of a page; none = there is no such line.
    pub footer: Option<String>,
}

impl BrandFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The mistake in the text.
    pub fn parse(text: &str) -> Result<BrandFile, TextError> {
        Ok(toml::from_str(text)?)
    }

    /// The brand with the content of its logo.
    ///
    /// # Errors
    /// A logo of a kind that pages cannot show, one that is too large, and an accent that cannot be
    /// read.
    pub fn with(self, logo: Option<&[u8]>) -> Result<Brand, String> {
        let text = |text: Option<String>| text.map(|text| visible(&text).trim().to_string());
        let (name, footer) = (text(self.name), text(self.footer));
        if [&name, &footer]
            .iter()
            .any(|text| text.as_ref().is_some_and(|text| text.chars().count() > MAX_LETTERS))
        {
            return Err(format!("name and footer may have at most {MAX_LETTERS} characters"));
        }
        let accent = self.accent.map(|accent| accents(&accent)).transpose()?;
        Ok(Brand { name, logo: logo.map(data_uri).transpose()?, accent, footer })
    }
}

fn data_uri(content: &[u8]) -> Result<String, String> {
    if content.len() > MAX_LOGO_BYTES {
        return Err(format!("the logo is larger than {MAX_LOGO_BYTES} bytes"));
    }
    let kind = kind_of(content).ok_or("the logo is neither PNG, JPEG, WebP nor SVG")?;
    Ok(format!("data:image/{kind};base64,{}", STANDARD.encode(content)))
}

/// Kind of an image by its first bytes, whatever its name says. An SVG in an image element runs no
/// script and loads nothing.
fn kind_of(content: &[u8]) -> Option<&'static str> {
    let is_svg = || {
        let text = std::str::from_utf8(content).ok()?.trim_start_matches('\u{feff}').trim_start();
        (text.starts_with("<svg") || text.starts_with("<?xml") && text.contains("<svg"))
            .then_some("svg+xml")
    };
    match content {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => is_svg(),
    }
}

/// The accent on light and on dark paper; there it is made as much lighter as it must be.
fn accents(text: &str) -> Result<[String; 2], String> {
    let color = Rgb::parse(text).ok_or_else(|| {
        format!("{} is not a color: write #rrggbb", dbdyno_core::error::quote(text))
    })?;
    let light = color.contrast(LIGHT_PAPER);
    if light < READABLE {
        return Err(format!(
            "the accent {text} has a contrast of {light:.1} on white; {READABLE} are needed to \
             read it"
        ));
    }
    Ok([color.hex(), readable_on_dark(color).hex()])
}

/// The color with as little white as can be read on dark paper.
fn readable_on_dark(color: Rgb) -> Rgb {
    for step in 0..=LIGHTER_STEPS {
        let lighter = color.mix(WHITE, f64::from(step) / f64::from(LIGHTER_STEPS));
        if lighter.contrast(DARK_PAPER) >= READABLE {
            return lighter;
        }
    }
    WHITE
}

/// A file of paragraphs: `[[text]]` with the section that they begin.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    #[serde(default, rename = "text")]
    texts: Vec<Added>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    /// Title or number of the section; none = a section of its own before all others.
    section: Option<SectionName>,
    paragraphs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum SectionName {
    Number(usize),
    Title(String),
}

impl Texts {
    /// Reads the file.
    ///
    /// # Errors
    /// The mistake in the text.
    pub fn parse(text: &str) -> Result<Texts, TextError> {
        let texts: Texts = toml::from_str(text)?;
        if texts.texts.is_empty() {
            return Err(TextError::of_whole("there is no [[text]]"));
        }
        Ok(texts)
    }

    /// Adds the paragraphs, each marked as added.
    ///
    /// # Errors
    /// A section that the document does not have, with those that it has.
    pub fn add_to(&self, document: &mut Document) -> Result<(), String> {
        let places =
            self.texts.iter().map(|text| text.place(document)).collect::<Result<Vec<_>, _>>()?;
        let language = document.language;
        let blocks = |text: &Added| {
            let said = |text: &String| {
                Block::Paragraph(language.say("added_text", &[("text", text.trim())]))
            };
            text.paragraphs.iter().map(said).collect::<Vec<_>>()
        };
        // The last first: a section keeps the order of its texts.
        for (text, place) in self.texts.iter().zip(&places).rev() {
            if let Some(place) = place {
                let section = &mut document.sections[*place];
                section.blocks.splice(0..0, blocks(text));
                let title = section.title.clone();
                document.page.iter_mut().for_each(|page| page.add(&title, blocks(text)));
            }
        }
        let own = self.texts.iter().zip(&places).filter(|(_, place)| place.is_none());
        let own: Vec<Block> = own.flat_map(|(text, _)| blocks(text)).collect();
        if !own.is_empty() {
            let title = language.phrase("Added texts");
            document.page.iter_mut().for_each(|page| page.add(&title, own.clone()));
            document.sections.insert(0, Section::new(language, "Added texts", own));
        }
        Ok(())
    }
}

impl Added {
    /// Index of its section; none for one of its own.
    fn place(&self, document: &Document) -> Result<Option<usize>, String> {
        let titles = || document.sections.iter().map(|section| section.title.as_str());
        let Some(name) = &self.section else { return Ok(None) };
        let found = match name {
            SectionName::Number(number) => {
                number.checked_sub(1).filter(|place| *place < document.sections.len())
            }
            SectionName::Title(title) => {
                titles().position(|known| known.to_lowercase() == title.trim().to_lowercase())
            }
        };
        let asked = match name {
            SectionName::Number(number) => number.to_string(),
            SectionName::Title(title) => dbdyno_core::error::quote(title),
        };
        found.map(Some).ok_or_else(|| {
            format!(
                "the report has no section {asked}; it has {}",
                titles().collect::<Vec<_>>().join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brand(text: &str, logo: Option<&[u8]>) -> Result<Brand, String> {
        BrandFile::parse(text).unwrap().with(logo)
    }

    #[test]
    fn a_logo_is_told_by_its_bytes_and_embedded() {
        let logo =
            |content: &[u8]| brand("logo = \"x\"", Some(content)).map(|brand| brand.logo.unwrap());
        assert_eq!(logo(b"\x89PNG\r\n").unwrap(), "data:image/png;base64,iVBORw0K");
        assert!(
            logo(b"<svg onload='alert(1)'>").unwrap().starts_with("data:image/svg+xml;base64,")
        );
        for junk in [&b"GIF89a"[..], b"<html><svg>", b"", b"\xff\xfe"] {
            assert_eq!(logo(junk).unwrap_err(), "the logo is neither PNG, JPEG, WebP nor SVG");
        }
        assert_eq!(
            logo(&[0x89; MAX_LOGO_BYTES + 1]).unwrap_err(),
            "the logo is larger than 200000 bytes"
        );
    }

    #[test]
    fn an_accent_can_be_read_on_both_papers() {
        let accent = |color: &str| {
            brand(&format!("accent = \"{color}\""), None).map(|brand| brand.accent.unwrap())
        };
        let [light, dark] = accent("#003366").unwrap();
        assert_eq!(light, "#003366");
        assert!(Rgb::parse(&dark).unwrap().contrast(DARK_PAPER) >= READABLE, "{dark}");
        assert_ne!(dark, light);
        assert!(accent("#FFFF00").unwrap_err().contains("a contrast of 1.1 on white"));
        for junk in ["red", "#12345", "#1234567", "#12345g", "#+1+2+3", "#ä2345"] {
            assert!(accent(junk).unwrap_err().contains("is not a color"), "{junk}");
        }
    }

    #[test]
    fn names_are_short_and_nothing_in_them_acts() {
        let made = brand("name = \"A\\u001b[2JB\"\nfooter = \" x \"", None).unwrap();
        assert!(!made.name.unwrap().contains('\u{1b}') && made.footer.unwrap() == "x");
        assert!(
            brand(&format!("name = \"{}\"", "x".repeat(201)), None)
                .unwrap_err()
                .contains("at most 200")
        );
        assert!(BrandFile::parse("nam = 1").unwrap_err().what.contains("unknown field"));
    }

    #[test]
    fn own_paragraphs_begin_their_section_and_are_marked() {
        let section = |title: &str| Section {
            title: title.into(),
            blocks: vec![Block::Code(Default::default())],
        };
        let mut document =
            Document { sections: vec![section("A"), section("B")], ..Document::default() };
        let text = "[[text]]\nparagraphs = [\"first\"]\n[[text]]\nsection = \"b\"\nparagraphs = \
                    [\"one\", \"two\"]\n[[text]]\nsection = 2\nparagraphs = [\"three\"]\n";
        Texts::parse(text).unwrap().add_to(&mut document).unwrap();
        let titles: Vec<&str> =
            document.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["Added texts", "A", "B"]);
        let said: Vec<Block> =
            ["one", "two", "three"].map(|text| Block::Paragraph(format!("Added: {text}"))).into();
        assert_eq!(document.sections[2].blocks[..3], said);
        let wrong = Texts::parse("[[text]]\nsection = \"C\"\nparagraphs = []").unwrap();
        assert_eq!(
            wrong.add_to(&mut document).unwrap_err(),
            "the report has no section 'C'; it has Added texts, A, B"
        );
        assert!(Texts::parse("").is_err());
    }
}
