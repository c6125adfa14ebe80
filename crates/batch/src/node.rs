//! The nodes of an engine.

use tollgate_model::Bytes;

/// A node of an engine, as it is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchNode {
    /// The name of the node: letters, digits, `.`, `-` and `_`.
    pub name: String,
    /// The number of cores for jobs; at least 1.
    pub cores: u32,
    /// The memory for jobs. None if the engine does not say.
    pub memory: Option<Bytes>,
    /// Whether the node takes jobs, or is full.
    pub is_up: bool,
    /// The engine's words for the state of the node.
    pub state: String,
}

impl BatchNode {
    /// Returns whether `name` can be the name of a node. No engine and no shell gives any of its letters a
    /// meaning.
    pub(crate) fn is_name(name: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && name.bytes().all(is_plain)
    }

    /// Adds a slot of the same node, if there is one with its name, or else the node.
    pub(crate) fn add_to(self, nodes: &mut Vec<Self>) {
        match nodes.iter_mut().find(|node| node.name == self.name) {
            Some(node) => {
                node.cores = node.cores.saturating_add(self.cores);
                let memory = |node: &Self| node.memory.map_or(0, Bytes::as_u64);
                let sum = memory(node).saturating_add(memory(&self));
                node.memory = Some(Bytes::from_kibibytes(sum >> 10));
                node.is_up &= self.is_up;
            }
            None => nodes.push(self),
        }
    }
}
