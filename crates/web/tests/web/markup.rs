//! Checks of every part of a page: it is well-formed, and nothing in it styles or runs by itself.

use std::collections::BTreeSet;

use roxmltree::{Document, ParsingOptions};

/// Checks parts of a page, and returns their texts.
pub(crate) fn check(html: &str) -> String {
    let whole = format!("<main xmlns=\"http://www.w3.org/1999/xhtml\">{html}</main>");
    let document = Document::parse_with_options(&whole, ParsingOptions::default())
        .unwrap_or_else(|error| panic!("{error}: {html}"));
    let mut ids = BTreeSet::new();
    for element in document.descendants().filter(|node| node.is_element()) {
        let name = element.tag_name().name();
        assert!(
            !["script", "style", "iframe", "object", "base"].contains(&name),
            "<{name}>"
        );
        for attribute in element.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            assert!(
                key != "style" && !key.starts_with("on"),
                "{key}=\"{value}\""
            );
            if key == "id" {
                assert!(ids.insert(value.to_owned()), "id {value} twice");
            }
            if ["href", "src", "action"].contains(&key) {
                // Nothing that names a scheme or a host leads away.
                assert!(
                    !value.contains("//") && !value.starts_with('/'),
                    "{key}=\"{value}\""
                );
                assert!(
                    !value.to_ascii_lowercase().contains("script:"),
                    "{key}=\"{value}\""
                );
            }
        }
    }
    for part in document
        .root_element()
        .children()
        .filter(|node| node.is_element())
    {
        let is_answer = part.tag_name().name() == "div" && part.attributes().len() == 0;
        assert!(
            is_answer || part.has_attribute("id"),
            "a part without an id is not replaced"
        );
    }
    let texts = document
        .descendants()
        .filter_map(|node| node.text().filter(|_| node.is_text()));
    texts.collect::<Vec<_>>().join("")
}
