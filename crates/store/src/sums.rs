//! Sums in SQL that stay in range.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Result};

/// A sum of integers that is at most the greatest integer, and at least the least one. SQLite's own `sum`
/// fails where the sum overflows, and with it the whole query.
struct SaturatingSum;

/// Registers the aggregate function `saturating_sum`: like `sum`, it is NULL if no value is there.
///
/// # Errors
/// If SQLite rejects the function.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_aggregate_function("saturating_sum", 1, flags, SaturatingSum)
}

impl Aggregate<Option<i128>, Option<i64>> for SaturatingSum {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<i128>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Option<i128>) -> Result<()> {
        if let Some(value) = context.get::<Option<i64>>(0)? {
            // No store has the 2^64 rows that this could overflow with.
            *sum = Some(sum.unwrap_or(0) + i128::from(value));
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<Option<i128>>) -> Result<Option<i64>> {
        Ok(sum
            .flatten()
            .map(|sum| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(values: &str) -> Option<i64> {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let sql = format!("SELECT saturating_sum(column1) FROM (VALUES {values})");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn sum_is_exact_or_the_nearest_integer() {
        let max = i64::MAX;
        for (values, expected) in [
            ("(NULL)".to_owned(), None),
            ("(1), (NULL), (-3)".to_owned(), Some(-2)),
            (format!("({max}), (1)"), Some(max)),
            (format!("({max}), (1), (-2)"), Some(max - 1)),
            (format!("({}), (-1)", i64::MIN), Some(i64::MIN)),
        ] {
            assert_eq!(sum_of(&values), expected, "{values}");
        }
    }
}
