//! Paths of values in a TOML file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The path of a value: keys of tables and indices of lists, from the outside in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TomlPath(Vec<TomlPathSegment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TomlPathSegment {
    Key(String),
    Item(usize),
}

impl TomlPath {
    /// Creates the path of a top-level key.
    pub(crate) fn key(key: &str) -> Self {
        Self::default().child(key)
    }

    /// Returns the path of a key of the table at this path.
    pub(crate) fn child(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(TomlPathSegment::Key(key.to_owned()));
        Self(steps)
    }

    /// Returns the path of an item, from 0, of the list at this path.
    pub(crate) fn item(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(TomlPathSegment::Item(index));
        Self(steps)
    }

    /// Returns the line, from 1, of the value at this path in `text`, or of the nearest enclosing
    /// value in the text.
    pub(crate) fn line(&self, text: &str) -> usize {
        let Ok(table) = DeTable::parse(text) else {
            return 1;
        };
        line_of(text, self.span(&table).start)
    }

    fn span(&self, table: &Spanned<DeTable<'_>>) -> Range<usize> {
        let Some((TomlPathSegment::Key(first), rest)) = self.0.split_first() else {
            return 0..0;
        };
        let Some(mut value) = table.get_ref().get(first.as_str()) else {
            return 0..0;
        };
        for step in rest {
            match step.of(value.get_ref()) {
                Some(inner) => value = inner,
                None => break,
            }
        }
        value.span()
    }
}

impl TomlPathSegment {
    fn of<'v, 'i>(&self, value: &'v DeValue<'i>) -> Option<&'v Spanned<DeValue<'i>>> {
        match self {
            Self::Key(key) => value.get(key.as_str()),
            Self::Item(index) => value.get(*index),
        }
    }
}

/// Writes `scenario[2].values[0]`, items from 0.
impl std::fmt::Display for TomlPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                TomlPathSegment::Key(key) if at == 0 => f.write_str(key)?,
                TomlPathSegment::Key(key) => write!(f, ".{key}")?,
                TomlPathSegment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Returns the line, from 1, of the byte at `offset`.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    1 + before.matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n\n[[b]]\nc = [1,\n  2]\n\n[[b]]\nc = 3\n";

    #[test]
    fn toml_path_has_a_name_and_a_line() {
        let items = TomlPath::key("b");
        for (place, name, line) in [
            (TomlPath::key("a"), "a", 1),
            (items.item(0).child("c").item(1), "b[0].c[1]", 5),
            (items.item(1).child("c"), "b[1].c", 8),
            (items.item(1).child("missing"), "b[1].missing", 7),
            (TomlPath::key("missing"), "missing", 1),
        ] {
            assert_eq!((place.to_string().as_str(), place.line(TEXT)), (name, line));
        }
    }
}
