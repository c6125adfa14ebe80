//! How wide a text is, and the letters that PNG files are drawn with.
//!
//! The letters are Arimo, which has the widths of Arial and Helvetica: a picture laid out here
//! fits as well where a browser takes one of these, and PNG files need no font of the system.

use std::borrow::Cow;
use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// A subset of Arimo Regular; its licence stands beside it.
pub(crate) const ARIMO: &[u8] = include_bytes!("../fonts/Arimo-Regular.ttf");

/// The name by which a picture asks for [`ARIMO`].
pub(crate) const FAMILY: &str = "Arimo";

/// What a character that the font lacks is taken to be wide, in parts of the font size: a full
/// square, as most writing systems without their own entry here have.
const FOREIGN_WIDTH: f64 = 1.0;

static FONT: LazyLock<FontRef<'static>> =
    LazyLock::new(|| FontRef::new(ARIMO).expect("the font that is built in is sound"));

/// The width in pixels of `text` in letters of `size` pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
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

/// `text`, or as much of its beginning as `room` pixels hold with an ellipsis after it.
pub(crate) fn truncated(text: &str, size: f64, room: f64) -> Cow<'_, str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_arial() {
        assert!((width("0", 1000.0) - 556.0).abs() < 1.0);
        assert!((width("il", 1000.0) - 444.0).abs() < 1.0);
        assert_eq!(width("", 12.0), 0.0);
        assert_eq!(width("\u{6587}", 12.0), 12.0);
    }

    #[test]
    fn a_text_is_cut_to_the_room_there_is() {
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
