//! Errors in the words that choose a policy and its parameters.

/// An error in a policy specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error("there is no policy `{policy}`: {known}", known = known.join(", "))]
    UnknownPolicy {
        /// The given name.
        policy: String,
        /// The names of all policies.
        known: Vec<&'static str>,
    },
    /// The policy has no such parameter.
    #[error("policy `{policy}` has no parameter `{key}`: it has {known}", known = known.join(", "))]
    UnknownParameter {
        /// The policy.
        policy: String,
        /// The given key.
        key: String,
        /// The policy's keys.
        known: Vec<&'static str>,
    },
    /// The parameter has another name now.
    #[error("policy `{policy}` has no parameter `{key}` any more: write {now}")]
    FormerParameter {
        /// The policy.
        policy: String,
        /// The former key.
        key: &'static str,
        /// The text to write instead.
        now: &'static str,
    },
    /// The value is not legal for the parameter.
    #[error("policy `{policy}`: {key} is {values}, not `{value}`")]
    BadValue {
        /// The policy.
        policy: String,
        /// The parameter.
        key: &'static str,
        /// The given value.
        value: String,
        /// The legal values.
        values: String,
    },
    /// A word behind the colon is not a `KEY=VALUE` pair.
    #[error("policy `{policy}`: expected KEY=VALUE, got `{word}`")]
    NotAPair {
        /// The policy.
        policy: String,
        /// The given word.
        word: String,
    },
}
