//! `tollgate study report`: the page of a finished study.

use crate::program::{folder, tollgate};

#[test]
fn directory_without_a_study_is_a_usage_error() {
    let nowhere = folder().join("no-study");
    let ran = tollgate(&["study", "report", nowhere.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stdout.is_empty(), "{ran}");
    assert!(ran.stderr.contains("summary.json: cannot be read"), "{ran}");
    assert!(ran.stderr.contains("hint: `tollgate study run"), "{ran}");
}
