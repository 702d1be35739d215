//! The colours of the style sheet have the contrasts of WCAG 2.2: 4.5:1 for text, 3:1 for curves
//! and marks.

use super::STYLE;

/// Okabe and Ito have eight colours; so have we.
const SERIES: usize = 8;

/// The declarations of one `:root` block.
fn roots() -> Vec<&'static str> {
    STYLE.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap()).collect()
}

fn channels(block: &str, name: &str) -> [f64; 3] {
    let value = block
        .split(&format!("--{name}: #"))
        .nth(1)
        .unwrap_or_else(|| panic!("no --{name} in {block}"));
    let digits = value.split(';').next().unwrap();
    let wide: String = if digits.len() == 3 {
        digits.chars().flat_map(|c| [c, c]).collect()
    } else {
        digits.into()
    };
    [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()) / 255.0)
}

/// Relative luminance as WCAG defines it.
fn luminance(channels: [f64; 3]) -> f64 {
    let linear =
        channels.map(|c| if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(block: &str, a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(channels(block, a)), luminance(channels(block, b)));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn the_contrast_is_that_of_the_standard() {
    let black_on_white = "--a: #000; --b: #ffffff;";
    assert!((contrast(black_on_white, "a", "b") - 21.0).abs() < 1e-9);
}

#[test]
fn text_and_curves_can_be_read_in_light_dark_and_on_paper() {
    assert_eq!(roots().len(), 3);
    for root in roots() {
        for text in ["ink", "soft", "link", "valid", "conditional", "invalid", "disturbed"] {
            let found = contrast(root, text, "paper");
            assert!(found >= 4.5, "--{text} has {found:.2} in {root}");
        }
        for box_name in ["box", "accent-box", "warn-box"] {
            assert!(contrast(root, "ink", box_name) >= 4.5, "--{box_name} in {root}");
        }
        for step in 0..=10 {
            let text = if step > 8 { "hot" } else { "heat" };
            let found = contrast(root, text, &format!("h{step}"));
            assert!(found >= 4.5, "--{text} has {found:.2} on --h{step} in {root}");
        }
        for number in 0..SERIES {
            let found = contrast(root, &format!("series-{number}"), "paper");
            assert!(found >= 3.0, "--series-{number} has {found:.2} in {root}");
        }
    }
}

/// Distance of two colours that people still tell apart on a thin line, of at most 1.7.
const MIN_DISTANCE: f64 = 0.18;

#[test]
fn no_two_curves_have_one_colour_or_nearly_one() {
    for root in roots() {
        for a in 0..SERIES {
            for b in 0..a {
                let [one, other] = [a, b].map(|n| channels(root, &format!("series-{n}")));
                let squares: f64 = one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum();
                let found = squares.sqrt();
                assert!(found >= MIN_DISTANCE, "series {a} and {b}: {found:.2} in {root}");
            }
        }
    }
}
