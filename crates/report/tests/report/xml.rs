//! Checks that pictures are well-formed documents.

use tollgate_report::png;

/// Checks that an SVG document is well-formed, needs no network, and has only numbers in its paths.
/// Returns its texts.
#[track_caller]
pub(crate) fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).expect("a well-formed document");
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        for attribute in node.attributes() {
            assert!(!attribute.value().contains("NaN"), "{attribute:?}");
            assert!(!attribute.value().contains("inf"), "{attribute:?}");
            assert!(!attribute.value().contains("://"), "{attribute:?}");
            assert!(
                attribute.name() != "id",
                "ids clash in a page: {attribute:?}"
            );
        }
    }
    let holds_text = |name: &str| name == "text" || name == "title";
    document
        .descendants()
        .filter(|node| holds_text(node.tag_name().name()))
        .filter_map(|node| node.text().map(str::to_owned))
        .collect()
}

/// Checks that a picture can be drawn and that two drawings have the same bytes.
#[track_caller]
pub(crate) fn drawn(svg: &str) -> Vec<u8> {
    let png = png::from_svg(svg, 1.0).expect("a picture");
    assert!(png.starts_with(b"\x89PNG"));
    assert_eq!(png::from_svg(svg, 1.0).expect("a picture"), png);
    png
}

#[test]
fn text_is_drawn_without_system_fonts() {
    let with = |text: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" \
             font-family=\"sans-serif\"><text y=\"15\">{text}</text></svg>"
        );
        drawn(&svg)
    };
    assert_ne!(with("abc"), with(""));
    assert_ne!(with("abc"), with("abd"));
}
