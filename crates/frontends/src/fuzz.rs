//! The entry point of a fuzz target.

use crate::{FrontendDialect, JobOptions, directives};

/// Parses the options in a script in both styles, for the fuzz target. Returns false if they are
/// invalid in both.
pub fn check_script(text: &str) -> bool {
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
