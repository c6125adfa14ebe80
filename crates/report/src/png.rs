//! PNG rendering that depends on nothing of the machine, fonts included.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use thiserror::Error;

use crate::font::{ARIMO, FAMILY};

/// The maximum number of pixels of a picture: 64 million, which take 256 MB during rendering.
const MAX_PIXELS: f64 = 64e6;

/// An error while a picture is rendered.
#[derive(Debug, Error)]
pub enum PngError {
    /// The input is not an SVG document.
    #[error("the picture cannot be read: {0}")]
    Unreadable(#[from] resvg::usvg::Error),
    /// The picture would have no pixels, or too many.
    #[error(
        "a picture of {width} x {height} pixels cannot be drawn: expected at least one pixel and \
         at most 64 million"
    )]
    Size {
        /// The width of the picture in pixels.
        width: f64,
        /// The height of the picture in pixels.
        height: f64,
    },
    /// The pixels could not be encoded.
    #[error("the pixels cannot be packed: {0}")]
    Encoding(String),
}

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(ARIMO.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Returns a PNG file of `svg`, `scale` times as large. A scale of 2 suits screens, and 4 suits
/// print.
///
/// # Errors
/// [`PngError`], never for pictures of this crate at a scale between 0.1 and 4.
pub fn from_svg(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let options = Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    let mut pixels = canvas(f64::from(width).ceil(), f64::from(height).ceil())?;
    let transform = Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels
        .encode_png()
        .map_err(|error| PngError::Encoding(error.to_string()))
}

fn canvas(width: f64, height: f64) -> Result<Pixmap, PngError> {
    let size = PngError::Size { width, height };
    let drawable = width >= 1.0 && height >= 1.0 && width * height <= MAX_PIXELS;
    if !drawable {
        return Err(size);
    }
    Pixmap::new(width as u32, height as u32).ok_or(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undrawable_input_is_rejected() {
        const SMALL: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"5\"/>";
        assert!(matches!(
            from_svg("words", 1.0),
            Err(PngError::Unreadable(_))
        ));
        assert!(matches!(from_svg(SMALL, 0.0), Err(PngError::Size { .. })));
        assert!(matches!(from_svg(SMALL, 1e6), Err(PngError::Size { .. })));
        assert!(matches!(
            from_svg(SMALL, f32::NAN),
            Err(PngError::Size { .. })
        ));
        assert!(from_svg(SMALL, 2.0).is_ok_and(|png| png.starts_with(b"\x89PNG")));
    }
}
