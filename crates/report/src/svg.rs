//! Writes SVG: elements, escapes, numbers.

use std::fmt::{self, Display, Write};

/// The font in which texts are measured and rendered, followed by fonts of the same widths.
const FONTS: &str = "Arimo, Arial, Helvetica, &quot;Liberation Sans&quot;, sans-serif";

/// An SVG picture under construction. Coordinates are CSS pixels from the top left corner.
///
/// No element has an id, so that any number of pictures fit into one page. Colours are presentation
/// attributes on groups that also have a class. A style sheet of the page around a picture
/// overrides these attributes, which lets pictures follow a dark theme.
pub struct SvgBuilder {
    body: String,
}

/// The end of a text to which its coordinates refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextAnchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// A coordinate or length, written with at most two decimals. A hundredth of a pixel is invisible,
/// and more decimals would only make files larger.
#[derive(Clone, Copy)]
pub struct PixelNumber(pub f64);

/// A text in which every character with a meaning in XML is replaced, so that names from files are
/// safe in attributes and elements. Control characters, which XML cannot represent, become the
/// replacement character.
pub struct XmlEscaped<'a>(pub &'a str);

impl SvgBuilder {
    /// Creates an empty picture of `width` x `height` pixels on a background of its own. Screen
    /// readers read `title` in place of the picture.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
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

    /// Creates an empty picture for a page with a style sheet, which gives its classes their colours, fonts and
    /// background. The picture may hold links, and scales with the page.
    pub fn in_page(width: f64, height: f64, class: &str, title: &str) -> Self {
        let mut body = String::new();
        let (w, h, title) = (PixelNumber(width), PixelNumber(height), XmlEscaped(title));
        put(
            &mut body,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" width=\"{w}\" height=\"{h}\" \
                 viewBox=\"0 0 {w} {h}\" role=\"group\" aria-label=\"{title}\">\n"
            ),
        );
        Self { body }
    }

    /// Opens a link to an address, which readers and tooltips call `title`.
    pub fn open_link(&mut self, address: &str, title: &str) {
        let (address, title) = (XmlEscaped(address), XmlEscaped(title));
        put(
            &mut self.body,
            format_args!("<a href=\"{address}\" aria-label=\"{title}\"><title>{title}</title>"),
        );
    }

    /// Opens a group whose tooltip is `title`.
    pub fn open_titled(&mut self, title: &str) {
        put(
            &mut self.body,
            format_args!("<g><title>{}</title>\n", XmlEscaped(title)),
        );
    }

    /// Closes the link that was opened last.
    pub fn close_link(&mut self) {
        self.body.push_str("</a>\n");
    }

    /// Draws a rectangle of `size` with its top left corner at a point.
    pub fn rect(&mut self, attributes: impl Display, (x, y): (f64, f64), size: (f64, f64)) {
        let [x, y, w, h] = [x, y, size.0.max(0.0), size.1.max(0.0)].map(PixelNumber);
        put(
            &mut self.body,
            format_args!("<rect {attributes} x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>\n"),
        );
    }

    /// Draws a straight line.
    pub fn line(&mut self, attributes: impl Display, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(PixelNumber);
        put(
            &mut self.body,
            format_args!("<line {attributes} x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n"),
        );
    }

    /// Draws a circle.
    pub fn circle(&mut self, attributes: impl Display, (x, y): (f64, f64), radius: f64) {
        let [x, y, r] = [x, y, radius].map(PixelNumber);
        put(
            &mut self.body,
            format_args!("<circle {attributes} cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>\n"),
        );
    }

    /// Draws a text on the base line `y` with attributes, in the size that the style sheet gives.
    pub fn label(
        &mut self,
        attributes: impl Display,
        (x, y): (f64, f64),
        anchor: TextAnchor,
        text: &str,
    ) {
        let (x, y, text) = (PixelNumber(x), PixelNumber(y), XmlEscaped(text));
        put(
            &mut self.body,
            format_args!("<text {attributes} x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>\n"),
        );
    }

    /// Opens a group with these attributes, which are written as they are.
    pub fn open(&mut self, attributes: impl Display) {
        put(&mut self.body, format_args!("<g {attributes}>\n"));
    }

    /// Closes the group that was opened last.
    pub fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// Draws a path. `title` is its tooltip.
    pub fn path(&mut self, attributes: impl Display, data: &str, title: Option<&str>) {
        let path = format_args!("<path {attributes} d=\"{data}\"");
        match title {
            Some(title) => put(
                &mut self.body,
                format_args!("{path}><title>{}</title></path>\n", XmlEscaped(title)),
            ),
            None => put(&mut self.body, format_args!("{path}/>\n")),
        }
    }

    /// Draws a text on the base line `y`, in the colour of its group.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: TextAnchor, size: f64, text: &str) {
        let place = format_args!("x=\"{}\" y=\"{}\"", PixelNumber(x), PixelNumber(y));
        self.write_text(place, anchor, size, text);
    }

    /// Draws a text that reads upwards, with the base line at `x` and the anchor at `y`.
    pub fn text_upwards(&mut self, (x, y): (f64, f64), anchor: TextAnchor, size: f64, text: &str) {
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

    /// Returns the finished picture as an SVG document.
    pub fn finish(mut self) -> String {
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
    fn lengths_have_no_superfluous_decimals() {
        let written =
            [0.0, -0.001, 3.0, 3.1, 2.4567, -0.5, 12.005].map(|px| PixelNumber(px).to_string());
        assert_eq!(written, ["0", "0", "3", "3.1", "2.46", "-0.5", "12.01"]);
    }

    #[test]
    fn xml_special_characters_are_escaped() {
        let escaped = XmlEscaped("a<b> & \"c\"\u{1}\n").to_string();
        assert_eq!(escaped, "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd} ");
    }
}
