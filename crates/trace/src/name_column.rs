//! Interned names that repeat from job to job.

use std::collections::HashMap;
use std::num::NonZeroU32;

use crate::optional_column::OptionalColumn;
use crate::parse_field;

/// The label of a name in a [`NameColumn`] column; only meaningful together with the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(NonZeroU32);

impl NameId {
    /// Returns the label as an index into [`NameColumn::names`].
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A column of names, with four bytes per job, and none if no name is known.
#[derive(Clone, Debug, Default)]
pub struct NameColumn {
    rows: OptionalColumn<NameId>,
    names: Vec<Box<str>>,
    /// Looked up in, never iterated: its order reaches no result.
    by_name: HashMap<Box<str>, NameId>,
    /// The label of the last known name: neighbours often share it.
    last: Option<NameId>,
}

impl NameColumn {
    /// Returns the name of the job in `row`, if it is known.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.id(row).map(|label| self.name(label))
    }

    /// Returns the label of the job in `row`, if it is known.
    pub fn id(&self, row: usize) -> Option<NameId> {
        self.rows.get(row)
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
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends the name of the next job.
    pub(crate) fn push(&mut self, name: Option<&str>) {
        let label = name.map(|name| self.intern(name));
        self.last = label.or(self.last);
        self.rows.push(label);
    }

    /// Appends the name of the next job as a record has it: unknown if it is empty. Returns whether it was
    /// not UTF-8.
    pub(crate) fn push_text(&mut self, text: &[u8]) -> bool {
        let mut lossy = false;
        if text.is_empty() {
            self.push(None);
        } else if let Some(last) = self.last
            && self.name(last).as_bytes() == text
        {
            self.rows.push(Some(last));
        } else {
            self.push(Some(&parse_field::utf8(text, &mut lossy)));
        }
        lossy
    }

    /// Removes the first `n` rows; names stay.
    pub(crate) fn drop_first(&mut self, n: usize) {
        self.rows.drop_first(n);
    }

    /// Keeps the rows that `keeps` names; names stay.
    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        self.rows.retain(keeps);
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
        for name in ["ann", "", "ann", "bob", "ann"] {
            assert!(!users.push_text(name.as_bytes()));
        }
        assert_eq!(users.names().collect::<Vec<_>>(), ["ann", "bob"]);
        assert_eq!(users.get(1), None);
        assert_eq!([users.id(2), users.id(4)], [users.id(0); 2]);
        assert!(users.push_text(b"\xff"));
        assert!(users.push_text(b"\xff"));
        users.drop_first(3);
        assert_eq!((users.len(), users.get(0)), (4, Some("bob")));
    }
}
