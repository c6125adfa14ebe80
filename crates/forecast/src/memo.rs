//! Values that follow from others.

use std::sync::OnceLock;

/// A value that follows from others beside it and is computed when it is first asked for. Code that changes
/// the others must replace the memo.
#[derive(Clone, Debug)]
pub(crate) struct Memo<T>(OnceLock<T>);

impl<T> Memo<T> {
    /// Returns the value, which `compute` computes if it was not asked for before.
    pub(crate) fn get_or(&self, compute: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(compute)
    }
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

/// Memos beside equal values are equal, whether they were asked or not.
impl<T> PartialEq for Memo<T> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
