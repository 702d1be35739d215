//! A brand on a page: logo and name above the title, a footer, the accent as a line and as the
//! color of the name.

use maud::{Markup, PreEscaped, html};

use crate::branding::Brand;

const STYLE: &str = ".brand { display: flex; align-items: center; gap: 1rem; padding-bottom: \
                     0.6rem; margin-bottom: 1rem; border-bottom: 3px solid var(--brand); color: \
                     var(--brand); font-weight: 600; }\n.brand img { max-height: 3rem; max-width: \
                     12rem; }\nbody > footer { margin-top: 3rem; padding-top: 0.6rem; border-top: \
                     1px solid var(--brand); }\n";

/// Addition to the page's policy: the logo within it.
pub fn policy(brand: Option<&Brand>) -> &'static str {
    if brand.is_some_and(|brand| brand.logo.is_some()) { "; img-src data:" } else { "" }
}

/// Style of the brand, which follows that of the page.
pub fn style(brand: &Brand) -> Markup {
    let light = brand.accent.as_ref().map_or("currentColor", |[light, _]| light);
    let dark = brand.accent.as_ref().map_or("currentColor", |[_, dark]| dark);
    // Paper is white in both schemes.
    let colors = format!(
        ":root {{ --brand: {light}; }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ \
         --brand: {dark}; }} }}\n"
    );
    html! { style { "\n" (PreEscaped(colors)) (PreEscaped(STYLE)) } "\n" }
}

/// Above the title.
pub fn head(brand: &Brand) -> Markup {
    let name = brand.name.as_deref().unwrap_or_default();
    html! {
        @if brand.logo.is_some() || brand.name.is_some() {
            div.brand {
                @if let Some(logo) = &brand.logo {
                    img src=(logo) alt=(if name.is_empty() { "Logo" } else { "" });
                }
                @if !name.is_empty() { span { (name) } }
            } "\n"
        }
    }
}

/// Below everything.
pub fn foot(brand: &Brand) -> Markup {
    html! { @if let Some(footer) = &brand.footer { footer { (footer) } "\n" } }
}
