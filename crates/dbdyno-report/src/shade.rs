//! The colours of heatmaps: one hue, for every kind of colour vision, from almost white at 0 to
//! blue at the best; and the colour of text that can be read on them.

/// Red, green and blue, as sent to a screen (sRGB).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// Text on light grounds.
pub const BLACK: Rgb = Rgb(0, 0, 0);
/// Text on dark grounds.
pub const WHITE: Rgb = Rgb(255, 255, 255);

/// Shares and their colours, ascending; between two of them colours are mixed.
const STOPS: [(f64, Rgb); 3] =
    [(0.0, Rgb(0xf6, 0xf7, 0xf9)), (0.5, Rgb(0xae, 0xcd, 0xe8)), (1.0, Rgb(0x4b, 0x8f, 0xc8))];

/// The ground of a cell by its share of the best (0..1).
pub fn ground(share: f64) -> Rgb {
    let share = share.clamp(0.0, 1.0);
    let upper = STOPS.iter().position(|stop| stop.0 >= share).unwrap_or(STOPS.len() - 1).max(1);
    let ((from, low), (to, high)) = (STOPS[upper - 1], STOPS[upper]);
    let part = (share - from) / (to - from);
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    Rgb(mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2))
}

/// Black or white, whichever can be read better on `ground`.
pub fn text_on(ground: Rgb) -> Rgb {
    if contrast(BLACK, ground) >= contrast(WHITE, ground) { BLACK } else { WHITE }
}

/// Contrast ratio of two colours, 1 to 21 (Web Content Accessibility Guidelines 2.1).
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Relative luminance, 0 to 1 (Web Content Accessibility Guidelines 2.1).
fn luminance(color: Rgb) -> f64 {
    let linear = |channel: u8| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(color.0) + 0.7152 * linear(color.1) + 0.0722 * linear(color.2)
}

/// Levels of a channel in the colour cube of an xterm.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Rgb {
    /// `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// As one number, 0xrrggbb.
    pub fn code(self) -> u32 {
        u32::from_be_bytes([0, self.0, self.1, self.2])
    }

    /// Number and true colour of the nearest of the 216 colours in the cube of a terminal with 256.
    pub fn indexed(self) -> (u8, Rgb) {
        let [red, green, blue] = [self.0, self.1, self.2].map(nearest_level);
        let color = Rgb(LEVELS[red], LEVELS[green], LEVELS[blue]);
        (16 + (36 * red + 6 * green + blue) as u8, color)
    }
}

fn nearest_level(channel: u8) -> usize {
    let distance = |level: &usize| LEVELS[*level].abs_diff(channel);
    (0..LEVELS.len()).min_by_key(distance).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_run_from_almost_white_to_blue() {
        for (share, color) in STOPS {
            assert_eq!(ground(share), color);
        }
        assert_eq!(ground(0.25), Rgb(0xd2, 0xe2, 0xf1));
        assert_eq!((ground(-1.0), ground(2.0)), (STOPS[0].1, STOPS[2].1));
        assert_eq!(ground(f64::NAN).hex().len(), 7);
    }

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        assert!((contrast(BLACK, WHITE) - 21.0).abs() < 1e-9);
        // The guidelines' own example of the least grey that passes on white.
        assert!((contrast(Rgb(0x76, 0x76, 0x76), WHITE) - 4.54).abs() < 0.01);
    }

    #[test]
    fn text_can_be_read_on_every_shade() {
        for step in 0..=1000 {
            let shade = ground(f64::from(step) / 1000.0);
            for ground in [shade, shade.indexed().1] {
                assert!(contrast(text_on(ground), ground) >= 4.5, "{step}");
            }
        }
    }

    #[test]
    fn the_nearest_colours_of_a_small_terminal() {
        assert_eq!((BLACK.indexed().0, WHITE.indexed().0), (16, 231));
        // 255 255 255 and 95 135 215 are the nearest of the cube: 16 + 36 * 5 + 6 * 5 + 5 and 16 +
        // 36 + 6 * 2 + 4.
        assert_eq!(ground(0.0).indexed(), (231, Rgb(255, 255, 255)));
        assert_eq!(ground(1.0).indexed(), (68, Rgb(95, 135, 215)));
    }
}
