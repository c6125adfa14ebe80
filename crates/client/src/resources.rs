//! Devices and licences as they are typed: `gpu`, `gpu:2`, `gpu:a100:1,matlab:3`.

use std::collections::BTreeMap;

/// Maximum length of a name, in characters.
const MAX_LEN: usize = 64;

/// Text that names no devices or licences.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected names with numbers of 1 to 255, as in gpu:2 or gpu:a100:1,matlab")]
pub struct ResourceListError;

/// Returns true if a resource can have this name: letters, digits, `.`, `_`, `-` and `:`, at least one
/// of them a letter, at most 64.
pub fn is_resource_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".:_-".contains(c);
    name.len() <= MAX_LEN
        && name.chars().all(is_allowed)
        && name.chars().any(|c| c.is_ascii_alphabetic())
        && !name.starts_with(':')
        && !name.ends_with(':')
}

/// Parses a list of names, each with its number after a colon; 1 without.
///
/// # Errors
/// If a name or a number is not one, or a name comes twice.
///
/// ```
/// use tollgate_client::resources::parse_resources;
///
/// let parsed = parse_resources("gpu:a100:2,matlab")?;
/// let parts: Vec<(&str, u8)> = parsed.iter().map(|(name, n)| (name.as_str(), *n)).collect();
/// assert_eq!(parts, [("gpu:a100", 2), ("matlab", 1)]);
/// assert!(parse_resources("gpu:0").is_err());
/// # Ok::<(), tollgate_client::resources::ResourceListError>(())
/// ```
pub fn parse_resources(text: &str) -> Result<BTreeMap<String, u8>, ResourceListError> {
    let mut parsed = BTreeMap::new();
    for part in text.split(',') {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (name, count) = match part.rsplit_once(':') {
            Some((name, count)) if is_number(count) => {
                (name, count.parse().map_err(|_| ResourceListError)?)
            }
            Some(_) | None => (part, 1),
        };
        let is_new = parsed.insert(name.to_owned(), count).is_none();
        if !is_new || count == 0 || !is_resource_name(name) {
            return Err(ResourceListError);
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_list_is_refused() {
        for text in [
            "", "gpu:256", "gpu:0", "gpu,gpu", "12", "a b", ":gpu", "gpu:", "gpu,,x",
        ] {
            assert_eq!(parse_resources(text), Err(ResourceListError), "{text:?}");
        }
    }
}
