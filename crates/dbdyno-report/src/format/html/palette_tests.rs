//! The colors of the style sheet have the contrasts of WCAG 2.2: 4.5:1 for text, 3:1 for curves
//! and marks.

use super::STYLE;
use crate::shade::Rgb;

/// The palette of Okabe and Ito has eight colors, as this one does.
const SERIES: usize = 8;

/// The declarations of one `:root` block.
fn roots() -> Vec<&'static str> {
    STYLE.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap()).collect()
}

/// A color of the block, which the style sheet may write with three digits.
fn color(block: &str, name: &str) -> Rgb {
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
    Rgb::parse(&format!("#{wide}")).unwrap()
}

fn contrast(block: &str, a: &str, b: &str) -> f64 {
    color(block, a).contrast(color(block, b))
}

/// Distance of two colors in the cube of red, green and blue, at most 1.7.
fn distance(a: Rgb, b: Rgb) -> f64 {
    let red = f64::from(a.red) - f64::from(b.red);
    let green = f64::from(a.green) - f64::from(b.green);
    let blue = f64::from(a.blue) - f64::from(b.blue);
    (red.powi(2) + green.powi(2) + blue.powi(2)).sqrt() / 255.0
}

#[test]
fn colours_of_three_digits_are_read() {
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

/// Distance from which on people distinguish two colors on a thin line.
const MIN_DISTANCE: f64 = 0.18;

#[test]
fn no_two_curves_have_one_colour_or_nearly_one() {
    for root in roots() {
        for a in 0..SERIES {
            for b in 0..a {
                let [one, other] = [a, b].map(|n| color(root, &format!("series-{n}")));
                let found = distance(one, other);
                assert!(found >= MIN_DISTANCE, "series {a} and {b}: {found:.2} in {root}");
            }
        }
    }
}
