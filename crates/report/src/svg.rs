//! Writing SVG: elements, escaping, numbers.

use std::fmt::{self, Display, Write};

/// The font that texts are measured and rendered in, then ones of the same widths.
const FONTS: &str = "Arimo, Arial, Helvetica, &quot;Liberation Sans&quot;, sans-serif";

/// A picture in the making. Coordinates are CSS pixels from the top left corner.
///
/// Nothing has an id, so that any number of pictures can stand in one page. Colours are
/// presentation attributes on groups that also carry a class: a style sheet of the page around a
/// picture outranks them, which is how pictures follow a dark theme.
pub(crate) struct SvgBuilder {
    body: String,
}

/// Which end of a text its coordinates give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextAnchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// A coordinate or length, written with at most two decimals: a hundredth of a pixel is seen by
/// nobody, and the rest would only make files large.
#[derive(Clone, Copy)]
pub(crate) struct PixelNumber(pub(crate) f64);

/// A text with everything that means something in XML replaced, so that names from files can
/// stand in attributes and elements. Control characters, which XML cannot hold at all, become
/// the replacement character.
pub(crate) struct XmlEscaped<'a>(pub(crate) &'a str);

impl SvgBuilder {
    /// An empty picture of `width` x `height` pixels on a background of its own. `title` is what
    /// a screen reader says instead of the picture.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut body = String::new();
        let (w, h, title) = (PixelNumber(width), PixelNumber(height), XmlEscaped(title));
        put(
            &mut body,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
                 viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{title}\" \
                 font-family=\"{FONTS}\">\n\
                 <rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n"
            ),
        );
        Self { body }
    }

    /// Opens a group with these attributes, as they are to be written.
    pub(crate) fn open(&mut self, attributes: impl Display) {
        put(&mut self.body, format_args!("<g {attributes}>\n"));
    }

    /// Closes the group opened last.
    pub(crate) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// A path; `title` is shown when it is pointed at.
    pub(crate) fn path(&mut self, attributes: impl Display, data: &str, title: Option<&str>) {
        let path = format_args!("<path {attributes} d=\"{data}\"");
        match title {
            Some(title) => put(
                &mut self.body,
                format_args!("{path}><title>{}</title></path>\n", XmlEscaped(title)),
            ),
            None => put(&mut self.body, format_args!("{path}/>\n")),
        }
    }

    /// A text on the base line `y`, in the colour of its group.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: TextAnchor, size: f64, text: &str) {
        let place = format_args!("x=\"{}\" y=\"{}\"", PixelNumber(x), PixelNumber(y));
        self.write_text(place, anchor, size, text);
    }

    /// A text that reads upwards, `x` being its base line and `y` its anchor.
    pub(crate) fn text_upwards(
        &mut self,
        (x, y): (f64, f64),
        anchor: TextAnchor,
        size: f64,
        text: &str,
    ) {
        let place = format_args!(
            "transform=\"translate({} {}) rotate(-90)\"",
            PixelNumber(x),
            PixelNumber(y)
        );
        self.write_text(place, anchor, size, text);
    }

    fn write_text(&mut self, place: impl Display, anchor: TextAnchor, size: f64, text: &str) {
        let (size, text) = (PixelNumber(size), XmlEscaped(text));
        put(
            &mut self.body,
            format_args!("<text {place} font-size=\"{size}\"{anchor}>{text}</text>\n"),
        );
    }

    /// The finished picture as an SVG document.
    pub(crate) fn finish(mut self) -> String {
        self.body.push_str("</svg>\n");
        self.body
    }
}

/// Appends to a string, which cannot fail.
pub(crate) fn put(out: &mut String, words: fmt::Arguments<'_>) {
    out.write_fmt(words).expect("a string takes all");
}

impl Display for TextAnchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => Ok(()),
            Self::Middle => f.write_str(" text-anchor=\"middle\""),
            Self::End => f.write_str(" text-anchor=\"end\""),
        }
    }
}

impl Display for PixelNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let sign = if hundredths < 0 { "-" } else { "" };
        let (whole, rest) = (
            hundredths.unsigned_abs() / 100,
            hundredths.unsigned_abs() % 100,
        );
        match (rest, rest % 10) {
            (0, _) => write!(f, "{sign}{whole}"),
            (_, 0) => write!(f, "{sign}{whole}.{}", rest / 10),
            _ => write!(f, "{sign}{whole}.{rest:02}"),
        }
    }
}

impl Display for XmlEscaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\n' | '\t' => f.write_char(' ')?,
                '\u{fffe}' | '\u{ffff}' => f.write_char(char::REPLACEMENT_CHARACTER)?,
                other if other.is_control() => f.write_char(char::REPLACEMENT_CHARACTER)?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_no_more_decimals_than_it_needs() {
        let written =
            [0.0, -0.001, 3.0, 3.1, 2.4567, -0.5, 12.005].map(|px| PixelNumber(px).to_string());
        assert_eq!(written, ["0", "0", "3", "3.1", "2.46", "-0.5", "12.01"]);
    }

    #[test]
    fn what_means_something_in_xml_is_replaced() {
        let escaped = XmlEscaped("a<b> & \"c\"\u{1}\n").to_string();
        assert_eq!(escaped, "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd} ");
    }
}
