//! Text widths, and the font for PNG files.
//!
//! The font is Arimo, which has the widths of Arial and Helvetica. A picture laid out with Arimo
//! also fits in a browser that uses Arial or Helvetica, and PNG files need no font of the system.

use std::borrow::Cow;
use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// A subset of Arimo Regular. Its licence is in the same directory.
pub(crate) const ARIMO: &[u8] = include_bytes!("../fonts/Arimo-Regular.ttf");

/// The font family name that a picture asks for to get [`ARIMO`].
#[cfg(feature = "png")]
pub(crate) const FAMILY: &str = "Arimo";

/// The assumed width of a character that the font lacks, as a fraction of the font size. The value
/// is a full square, which fits most writing systems without an entry of their own here.
const FOREIGN_WIDTH: f64 = 1.0;

static FONT: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(ARIMO).expect("the font that is built in is sound"));

/// Returns the width in pixels of `text` at a font size of `size` pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let glyphs = FONT.charmap();
    let metrics = FONT.glyph_metrics(Size::new(1.0), LocationRef::default());
    let widths = text.chars().map(|character| {
        glyphs
            .map(character)
            .and_then(|glyph| metrics.advance_width(glyph))
            .map_or(FOREIGN_WIDTH, f64::from)
    });
    widths.sum::<f64>() * size
}

/// Returns `text`, or the longest beginning of `text` that fits into `room` pixels with an
/// ellipsis.
pub fn truncated(text: &str, size: f64, room: f64) -> Cow<'_, str> {
    if width(text, size) <= room {
        return Cow::Borrowed(text);
    }
    let mut end = 0;
    for (position, character) in text.char_indices() {
        let next = position + character.len_utf8();
        if width(&text[..next], size) + width("\u{2026}", size) > room {
            break;
        }
        end = next;
    }
    Cow::Owned(format!("{}\u{2026}", text[..end].trim_end()))
}

/// Splits `text` at spaces into lines of at most `room` pixels. A word wider than `room` has a line
/// of its own.
pub(crate) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces() {
        let room = width("one two", 10.0);
        assert_eq!(wrapped("one two three", 10.0, room), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensible", 10.0, 5.0), ["incomprehensible"]);
    }

    #[test]
    fn widths_are_those_of_arial() {
        assert!((width("0", 1000.0) - 556.0).abs() < 1.0);
        assert!((width("il", 1000.0) - 444.0).abs() < 1.0);
        assert_eq!(width("", 12.0), 0.0);
        assert_eq!(width("\u{6587}", 12.0), 12.0);
    }

    #[test]
    fn text_is_truncated_to_the_available_width() {
        assert_eq!(truncated("short", 12.0, 100.0), "short");
        let cut = truncated("a title that goes on and on", 12.0, 60.0);
        assert!(
            cut.starts_with("a title") && cut.ends_with('\u{2026}'),
            "{cut}"
        );
        assert!(width(&cut, 12.0) <= 60.0);
        assert_eq!(truncated("wide", 12.0, 0.0), "\u{2026}");
    }
}
