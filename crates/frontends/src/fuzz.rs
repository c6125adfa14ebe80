//! The entry point of a fuzz target.

use crate::{FrontendDialect, JobOptions, directives};

/// Parses `data` as a script for `qsub` in both styles. Returns false if its options are invalid in both.
///
/// # Panics
/// If an error does not name the script.
pub fn scripts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let styles = [FrontendDialect::Pbs, FrontendDialect::GridEngine];
    let understood = styles.map(|style| {
        let read = directives::parse("script", text, style);
        let added = read.and_then(|given| JobOptions::default().add(&given, style));
        if let Err(error) = &added {
            assert!(error.to_string().starts_with("script:"), "{error}");
        }
        added.is_ok()
    });
    understood.contains(&true)
}
