//! The colors of heatmaps: one hue, for every kind of color vision, from almost white at 0 to
//! blue at the best; and the color of text that can be read on them.

/// A color by its red, green and blue, as sent to a screen (sRGB).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb {
    /// Share of red, of 255.
    pub red: u8,
    /// Share of green, of 255.
    pub green: u8,
    /// Share of blue, of 255.
    pub blue: u8,
}

/// Text on light grounds.
pub const BLACK: Rgb = Rgb::new(0, 0, 0);
/// Text on dark grounds.
pub const WHITE: Rgb = Rgb::new(255, 255, 255);

/// The color of the ground at a share of the best.
struct Stop {
    share: f64,
    color: Rgb,
}

/// Shares and their colors, ascending; between two of them colors are mixed.
const STOPS: [Stop; 3] = [
    Stop { share: 0.0, color: Rgb::new(0xf6, 0xf7, 0xf9) },
    Stop { share: 0.5, color: Rgb::new(0xae, 0xcd, 0xe8) },
    Stop { share: 1.0, color: Rgb::new(0x4b, 0x8f, 0xc8) },
];

/// The ground of a cell by its share of the best (0..1).
pub fn ground(share: f64) -> Rgb {
    let share = share.clamp(0.0, 1.0);
    let upper = STOPS.iter().position(|stop| stop.share >= share).unwrap_or(STOPS.len() - 1).max(1);
    let (from, to) = (&STOPS[upper - 1], &STOPS[upper]);
    from.color.mix(to.color, (share - from.share) / (to.share - from.share))
}

/// Black or white, whichever can be read better on `ground`.
pub fn text_on(ground: Rgb) -> Rgb {
    if BLACK.contrast(ground) >= WHITE.contrast(ground) { BLACK } else { WHITE }
}

/// Levels of a channel in the color cube of an xterm.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Rgb {
    /// The color of these shares of 255.
    pub const fn new(red: u8, green: u8, blue: u8) -> Rgb {
        Rgb { red, green, blue }
    }

    /// The color that is written as `#rrggbb`; none if the text is anything else.
    pub fn parse(text: &str) -> Option<Rgb> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        // The parser of numbers would take a sign, too.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let [_, red, green, blue] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some(Rgb { red, green, blue })
    }

    /// The color as `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }

    /// The color as one number, 0xrrggbb.
    pub fn code(self) -> u32 {
        u32::from_be_bytes([0, self.red, self.green, self.blue])
    }

    /// The mixture with this share (0..1) of another color.
    pub fn mix(self, other: Rgb, share: f64) -> Rgb {
        Rgb {
            red: mix_channel(self.red, other.red, share),
            green: mix_channel(self.green, other.green, share),
            blue: mix_channel(self.blue, other.blue, share),
        }
    }

    /// The contrast ratio to another color, 1 to 21. Source: WCAG 2.2, contrast ratio.
    pub fn contrast(self, other: Rgb) -> f64 {
        let (own, others) = (self.luminance(), other.luminance());
        (own.max(others) + 0.05) / (own.min(others) + 0.05)
    }

    /// The relative luminance, 0 to 1. Source: WCAG 2.2, relative luminance.
    fn luminance(self) -> f64 {
        0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue)
    }

    /// The nearest of the 216 colors in the cube of a terminal with 256.
    pub fn nearest_indexed(self) -> IndexedColor {
        let [red, green, blue] = [self.red, self.green, self.blue].map(nearest_level);
        IndexedColor {
            index: 16 + (36 * red + 6 * green + blue) as u8,
            color: Rgb::new(LEVELS[red], LEVELS[green], LEVELS[blue]),
        }
    }
}

/// A color of a terminal with 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedColor {
    /// Number of the color.
    pub index: u8,
    /// The color that the terminal shows for it.
    pub color: Rgb,
}

fn mix_channel(from: u8, to: u8, share: f64) -> u8 {
    let (from, to) = (f64::from(from), f64::from(to));
    (from + share * (to - from)).round() as u8
}

/// The light of a channel, 0 to 1, without the correction for screens.
fn linear(channel: u8) -> f64 {
    let value = f64::from(channel) / 255.0;
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
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
        for stop in &STOPS {
            assert_eq!(ground(stop.share), stop.color);
        }
        assert_eq!(ground(0.25), Rgb::new(0xd2, 0xe2, 0xf1));
        assert_eq!((ground(-1.0), ground(2.0)), (STOPS[0].color, STOPS[2].color));
        assert_eq!(ground(f64::NAN).hex().len(), 7);
    }

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        assert!((BLACK.contrast(WHITE) - 21.0).abs() < 1e-9);
        // The guidelines' own example of the least gray that passes on white.
        assert!((Rgb::new(0x76, 0x76, 0x76).contrast(WHITE) - 4.54).abs() < 0.01);
        assert!((Rgb::new(0x77, 0x77, 0x77).contrast(WHITE) - 4.48).abs() < 0.005);
    }

    #[test]
    fn a_colour_is_read_as_it_is_written() {
        for text in ["#000000", "#0033ff", "#c08040"] {
            assert_eq!(Rgb::parse(text).unwrap().hex(), text);
        }
        assert_eq!(Rgb::parse("#FFff00"), Some(Rgb::new(255, 255, 0)));
        for junk in ["red", "123456", "#123", "#12345", "#1234567", "#12345g", "#+1+2+3", "#ä2345"]
        {
            assert_eq!(Rgb::parse(junk), None, "{junk}");
        }
    }

    #[test]
    fn text_can_be_read_on_every_shade() {
        for step in 0..=1000 {
            let shade = ground(f64::from(step) / 1000.0);
            for ground in [shade, shade.nearest_indexed().color] {
                assert!(text_on(ground).contrast(ground) >= 4.5, "{step}");
            }
        }
    }

    #[test]
    fn the_nearest_colours_of_a_small_terminal() {
        let index = |color: Rgb| color.nearest_indexed().index;
        assert_eq!((index(BLACK), index(WHITE)), (16, 231));
        // 255 255 255 and 95 135 215 are the nearest of the cube: 16 + 36 * 5 + 6 * 5 + 5 and 16 +
        // 36 + 6 * 2 + 4.
        let white = IndexedColor { index: 231, color: Rgb::new(255, 255, 255) };
        assert_eq!(ground(0.0).nearest_indexed(), white);
        let blue = IndexedColor { index: 68, color: Rgb::new(95, 135, 215) };
        assert_eq!(ground(1.0).nearest_indexed(), blue);
    }
}
