//! Paths of the API with the parameters of a query.

use std::fmt::{self, Write};

/// A path with parameters, whose values may have any characters.
///
/// ```
/// use tollgate_client::PathWithQuery;
///
/// let path = PathWithQuery::new("/v1/jobs").with("name", "a b&c").with("limit", 7);
/// assert_eq!(path.to_string(), "/v1/jobs?name=a%20b%26c&limit=7");
/// ```
#[derive(Clone, Debug)]
pub struct PathWithQuery {
    text: String,
    has_query: bool,
}

impl PathWithQuery {
    /// Creates a path without parameters.
    pub fn new(path: impl Into<String>) -> Self {
        let text = path.into();
        Self {
            has_query: text.contains('?'),
            text,
        }
    }

    /// Adds a parameter. `name` has letters, digits and `_` alone.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.text.push(if self.has_query { '&' } else { '?' });
        self.has_query = true;
        self.text.push_str(name);
        self.text.push('=');
        for byte in value.to_string().bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b',' => {
                    self.text.push(char::from(byte));
                }
                // Writing to a string cannot fail.
                other => drop(write!(self.text, "%{other:02X}")),
            }
        }
        self
    }

    /// Adds a parameter if it has a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl fmt::Display for PathWithQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
