//! Columns of values that records often lack.

/// A column with one row per job, whose values may be unknown. Rows after the last known value take no
/// memory, so that a column without values takes none.
#[derive(Clone, Debug)]
pub struct OptionalColumn<T> {
    /// The rows up to the last known value, or somewhat beyond it.
    stored: Vec<Option<T>>,
    len: usize,
}

impl<T: Copy> OptionalColumn<T> {
    /// Returns the value of the job in `row`, if it is known.
    pub fn get(&self, row: usize) -> Option<T> {
        self.stored.get(row).copied().flatten()
    }

    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the value of the next job.
    pub(crate) fn push(&mut self, value: Option<T>) {
        if value.is_some() {
            self.stored.resize(self.len, None);
            self.stored.push(value);
        }
        self.len += 1;
    }

    /// Replaces the value of the job in `row`.
    pub(crate) fn set(&mut self, row: usize, value: Option<T>) {
        debug_assert!(row < self.len, "no row {row}: there are {}", self.len);
        if let Some(stored) = self.stored.get_mut(row) {
            *stored = value;
        } else if value.is_some() {
            self.stored.resize(row, None);
            self.stored.push(value);
        }
    }

    /// Removes the first `n` rows.
    pub(crate) fn drop_first(&mut self, n: usize) {
        self.len -= n;
        self.stored.drain(..n.min(self.stored.len()));
    }

    /// Keeps the rows that `keeps` names.
    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        self.len = (0..self.len).filter(|&row| keeps(row)).count();
        retain_rows(&mut self.stored, keeps);
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

impl<T> Default for OptionalColumn<T> {
    fn default() -> Self {
        Self {
            stored: Vec::new(),
            len: 0,
        }
    }
}

/// Two columns are equal if every job has the same value in both.
impl<T: Copy + PartialEq> PartialEq for OptionalColumn<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && (0..self.len).all(|row| self.get(row) == other.get(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(values: &[Option<u8>]) -> OptionalColumn<u8> {
        let mut column = OptionalColumn::default();
        values.iter().for_each(|&value| column.push(value));
        column
    }

    #[test]
    fn unknown_values_at_the_end_are_not_stored() {
        assert_eq!(column(&[None, None]).stored.capacity(), 0);
        let mut late = column(&[None, Some(7), None]);
        assert_eq!((late.len(), late.stored.len()), (3, 2));
        late.set(2, None);
        assert_eq!(late.stored.len(), 2);
        late.set(2, Some(8));
        assert_eq!(late, column(&[None, Some(7), Some(8)]));
    }

    proptest! {
        #[test]
        fn column_is_a_list_of_options(
            values in prop::collection::vec(prop::option::weighted(0.3, 0u8..9), 0..30),
            first in 0usize..30,
            step in 1usize..4,
        ) {
            let (first, keeps) = (first.min(values.len()), |row: usize| row.is_multiple_of(step));
            let mut cut = column(&values);
            cut.drop_first(first);
            let mut expected = values[first..].to_vec();
            prop_assert_eq!(&cut, &column(&expected));
            cut.retain(&keeps);
            retain_rows(&mut expected, &keeps);
            prop_assert_eq!(cut.len(), expected.len());
            let rows: Vec<_> = (0..cut.len()).map(|row| cut.get(row)).collect();
            prop_assert_eq!(rows, expected);
        }
    }
}
