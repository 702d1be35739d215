//! The page on paper. Only the page is rendered here; a caller that may start programs has a
//! browser print it.

use super::html::Html;
use super::{Format, Options, Rendered};
use crate::document::Document;
use dbdyno_core::error::Result;

/// `--format pdf`.
pub struct Pdf;

impl Format for Pdf {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn title(&self) -> &'static str {
        "the page on paper, printed by an installed Chromium or Chrome"
    }

    fn is_text(&self) -> bool {
        false
    }

    fn is_printed_page(&self) -> bool {
        true
    }

    fn extension(&self) -> &'static str {
        "pdf"
    }

    fn render(&self, document: &Document, options: Options) -> Result<Rendered> {
        Html.render(document, options)
    }
}
