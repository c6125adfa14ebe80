//! Interned names that repeat from job to job.

use std::collections::HashMap;
use std::num::NonZeroU32;

/// The label of a name in a [`NameColumn`] column; only meaningful together with the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(NonZeroU32);

impl NameId {
    /// Returns the label as an index into [`NameColumn::names`].
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A column of names, with four bytes per job.
#[derive(Clone, Debug, Default)]
pub struct NameColumn {
    rows: Vec<Option<NameId>>,
    names: Vec<Box<str>>,
    /// Looked up in, never iterated: its order reaches no result.
    by_name: HashMap<Box<str>, NameId>,
}

impl NameColumn {
    /// Returns the name of the job in `row`, if it is known.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.id(row).map(|label| self.name(label))
    }

    /// Returns the label of the job in `row`, if it is known.
    pub fn id(&self, row: usize) -> Option<NameId> {
        self.rows.get(row).copied().flatten()
    }

    /// Returns the name of a label of this column.
    pub fn name(&self, label: NameId) -> &str {
        &self.names[label.index()]
    }

    /// Returns every name, in the order of first occurrence.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends the name of the next job.
    pub(crate) fn push(&mut self, name: Option<&str>) {
        let label = name.map(|name| self.intern(name));
        self.rows.push(label);
    }

    /// Removes the first `n` rows; names stay.
    pub(crate) fn drop_first(&mut self, n: usize) {
        self.rows.drain(..n);
    }

    /// Keeps the rows that `keeps` names; names stay.
    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        retain_rows(&mut self.rows, keeps);
    }

    fn intern(&mut self, name: &str) -> NameId {
        if let Some(&label) = self.by_name.get(name) {
            return label;
        }
        self.names.push(name.into());
        let count = u32::try_from(self.names.len())
            .ok()
            .and_then(NonZeroU32::new);
        let label = NameId(count.expect("fewer names than rows, and rows fit 32 bits"));
        self.by_name.insert(name.into(), label);
        label
    }
}

/// Keeps the elements of `rows` whose places `keeps` names.
pub(crate) fn retain_rows<T>(rows: &mut Vec<T>, keeps: &dyn Fn(usize) -> bool) {
    let mut row = 0;
    rows.retain(|_| {
        row += 1;
        keeps(row - 1)
    });
}

/// Two columns are equal if every job has the same name in both.
impl PartialEq for NameColumn {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|row| self.get(row) == other.get(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_name_is_stored_once() {
        let mut users = NameColumn::default();
        for name in [Some("ann"), None, Some("bob"), Some("ann")] {
            users.push(name);
        }
        assert_eq!(users.names().collect::<Vec<_>>(), ["ann", "bob"]);
        assert_eq!(users.get(1), None);
        assert_eq!(users.id(0), users.id(3));
        users.drop_first(2);
        assert_eq!((users.len(), users.get(0)), (2, Some("bob")));
    }
}
