//! Anonymisation of a trace: each name becomes a token, the same token wherever the name occurs.
//!
//! A token is a pseudo-random function of the key, the column and the name (SipHash-2-4 with a key of 128
//! bits: Aumasson & Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012). So names cannot be guessed
//! and tried without the key. The same key gives the same tokens in every run. Numbers and times stay as they
//! are, with everything that they reveal.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::name_column::NameColumn;
use crate::passthrough_columns::PassthroughColumns;
use crate::trace::Trace;
use crate::trace_metadata::TraceMetadata;

/// Characters of a token after its first: 60 bits, so that two names of a million collide in one of
/// 10^6 traces. One of the two names then gets another token.
const TOKEN_CHARACTERS: usize = 12;

/// The alphabet of RFC 4648 in lower case: no two characters look alike.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The secret key of the tokens. A person with the key can try names out.
#[derive(Clone, Copy)]
pub struct AnonymiserKey(u64, u64);

impl AnonymiserKey {
    /// Creates a key of 128 bits. The tokens are only as safe as the bits are secret.
    pub const fn new(bits: u128) -> Self {
        Self(bits as u64, (bits >> 64) as u64)
    }

    /// Creates a key from any bytes, such as the contents of a file. The tokens are only as safe as
    /// the bytes are secret.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut hasher = SipHasher24::new();
        hasher.write(bytes);
        Self::new(hasher.finish128().as_u128())
    }
}

/// A key is never printed.
impl std::fmt::Debug for AnonymiserKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Turns the names of a trace into tokens, a batch of rows at a time.
#[derive(Debug)]
pub struct TraceAnonymiser {
    key: AnonymiserKey,
    /// Names of the columns that stay as they are.
    keep: BTreeSet<String>,
    /// The tokens by column. Looked up in, never iterated.
    tokens: HashMap<String, ColumnTokens>,
}

/// The tokens of one column.
#[derive(Debug, Default)]
struct ColumnTokens {
    by_name: HashMap<Box<str>, NameToken>,
    given: HashSet<NameToken>,
}

/// A name as 60 pseudo-random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NameToken(u64);

impl TraceAnonymiser {
    /// Creates an anonymiser. The columns in `keep` stay as they are: `user`, `group`, `account`,
    /// `executable`, `queue`, or the name of a column that tollgate does not know.
    pub fn new(key: AnonymiserKey, keep: BTreeSet<String>) -> Self {
        Self {
            key,
            keep,
            tokens: HashMap::new(),
        }
    }

    /// Returns `batch` with tokens for names. The comments of its header and the name of its
    /// source, which may hold anything, are removed.
    #[must_use]
    pub fn anonymise(&mut self, batch: &Trace) -> Trace {
        // Only the parts named here are copied.
        Trace {
            jobs: batch.jobs.clone(),
            slas: batch.slas.clone(),
            metadata: batch.metadata.as_ref().map(|names| self.metadata(names)),
            extra: batch
                .extra
                .as_ref()
                .map(|extra| self.extra(extra, batch.jobs.len())),
            max_procs: batch.max_procs,
            max_nodes: batch.max_nodes,
            unix_start: batch.unix_start,
            ..Trace::default()
        }
    }

    fn metadata(&mut self, metadata: &TraceMetadata) -> TraceMetadata {
        TraceMetadata {
            user: self.labels("user", &metadata.user),
            group: self.labels("group", &metadata.group),
            account: self.labels("account", &metadata.account),
            executable: self.labels("executable", &metadata.executable),
            queue: self.labels("queue", &metadata.queue),
            usage: metadata.usage.clone(),
            attempts: metadata.attempts.clone(),
        }
    }

    fn labels(&mut self, column: &str, labels: &NameColumn) -> NameColumn {
        let mut anonymous = NameColumn::default();
        for row in 0..labels.len() {
            let token = labels.get(row).map(|name| self.token(column, name));
            anonymous.push(token.as_deref());
        }
        anonymous
    }

    fn extra(&mut self, extra: &PassthroughColumns, rows: usize) -> PassthroughColumns {
        let mut anonymous = PassthroughColumns::new(extra.names().to_vec());
        for row in 0..rows {
            for (column, cell) in extra.names().iter().zip(extra.row(row)) {
                match cell {
                    "" => anonymous.push(""),
                    name => anonymous.push(&self.token(column, name)),
                }
            }
        }
        anonymous
    }

    /// Returns the token of `name` in `column`. The first letter is that of the column, so that a
    /// token is never mistaken for a number.
    fn token(&mut self, column: &str, name: &str) -> String {
        if self.keep.contains(column) {
            return name.to_owned();
        }
        if !self.tokens.contains_key(column) {
            self.tokens
                .insert(column.to_owned(), ColumnTokens::default());
        }
        let tokens = self.tokens.get_mut(column).expect("was put there");
        let token = tokens.of(self.key, column, name);
        let letter = column.chars().find(char::is_ascii_alphabetic);
        let letter = letter.unwrap_or('x').to_ascii_lowercase();
        [letter].into_iter().chain(token.characters()).collect()
    }
}

impl ColumnTokens {
    fn of(&mut self, key: AnonymiserKey, column: &str, name: &str) -> NameToken {
        if let Some(&token) = self.by_name.get(name) {
            return token;
        }
        let token = (0..)
            .map(|attempt| NameToken::of(key, column, name, attempt))
            .find(|&token| self.given.insert(token))
            .expect("there are more tokens than names");
        self.by_name.insert(name.into(), token);
        token
    }
}

impl NameToken {
    fn of(key: AnonymiserKey, column: &str, name: &str, attempt: u32) -> Self {
        let mut hasher = SipHasher24::new_with_keys(key.0, key.1);
        // Lengths first: no two inputs are the same bytes.
        for text in [column, name] {
            hasher.write(&(text.len() as u64).to_le_bytes());
            hasher.write(text.as_bytes());
        }
        hasher.write(&attempt.to_le_bytes());
        let bits = hasher.finish128().as_u128() as u64;
        Self(bits & ((1 << (5 * TOKEN_CHARACTERS)) - 1))
    }

    fn characters(self) -> impl Iterator<Item = char> {
        (0..TOKEN_CHARACTERS)
            .map(move |at| char::from(ALPHABET[(self.0 >> (5 * at)) as usize % ALPHABET.len()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anonymiser(bits: u128) -> TraceAnonymiser {
        TraceAnonymiser::new(
            AnonymiserKey::new(bits),
            BTreeSet::from(["queue".to_owned()]),
        )
    }

    #[test]
    fn name_has_one_token_per_column_and_key() {
        let mut tokens = anonymiser(7);
        let ann = tokens.token("user", "ann");
        assert_eq!(ann.len(), 1 + TOKEN_CHARACTERS);
        assert!(ann.starts_with('u'));
        assert_eq!(tokens.token("user", "ann"), ann);
        assert_eq!(anonymiser(7).token("user", "ann"), ann);
        assert_ne!(tokens.token("user", "bob"), ann);
        assert_ne!(tokens.token("group", "ann")[1..], ann[1..]);
        assert_ne!(anonymiser(8).token("user", "ann"), ann);
        assert_eq!(tokens.token("queue", "long"), "long");
    }

    #[test]
    fn assigned_token_is_not_reused() {
        let key = AnonymiserKey::new(7);
        let mut tokens = ColumnTokens::default();
        tokens.given.insert(NameToken::of(key, "user", "ann", 0));
        let next = NameToken::of(key, "user", "ann", 1);
        assert_eq!(tokens.of(key, "user", "ann"), next);
    }

    #[test]
    fn keys_from_bytes_differ_and_are_hidden_in_debug() {
        let (one, two) = (
            AnonymiserKey::from_bytes(b"one"),
            AnonymiserKey::from_bytes(b"two"),
        );
        assert_ne!((one.0, one.1), (two.0, two.1));
        assert_eq!(format!("{one:?}"), "Key(..)");
    }
}
