//! The script and the style sheet keep to their limits.

const SCRIPT: &str = include_str!("../../assets/window.js");
const STYLE: &str = include_str!("../../assets/style.css");

#[test]
fn script_has_at_most_300_lines() {
    let lines = SCRIPT.lines().count();
    assert!(lines <= 300, "{lines} lines");
}

#[test]
fn script_and_style_name_no_other_host() {
    for text in [SCRIPT, STYLE] {
        assert!(!text.contains("://") && !text.contains("@import") && !text.contains("import("));
    }
    // Without these the policy of the content would have to be weaker.
    for word in [
        "eval(",
        "new Function",
        "document.write",
        "insertAdjacentHTML",
        ".style",
    ] {
        assert!(!SCRIPT.contains(word), "{word}");
    }
    assert_eq!(
        SCRIPT.matches("innerHTML").count(),
        1,
        "all HTML passes the one policy"
    );
}
