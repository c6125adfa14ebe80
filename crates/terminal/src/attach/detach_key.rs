//! The keys that detach a terminal.

/// Ctrl-], with which a command to the client begins.
const PREFIX: u8 = 0x1d;

/// The state of the keys: whether the prefix was typed.
#[derive(Debug, Default)]
pub(super) struct DetachKey {
    is_prefixed: bool,
}

/// Typed bytes, sorted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TypedInput {
    /// The input of the command.
    pub(super) bytes: Vec<u8>,
    /// Whether the user detaches the terminal. Keys after that are dropped.
    pub(super) detaches: bool,
}

impl DetachKey {
    /// Separates the input of the command from the keys of this client.
    pub(super) fn filter(&mut self, typed: &[u8]) -> TypedInput {
        let mut bytes = Vec::with_capacity(typed.len());
        for &byte in typed {
            match (std::mem::take(&mut self.is_prefixed), byte) {
                (false, PREFIX) => self.is_prefixed = true,
                (true, b'd') => {
                    return TypedInput {
                        bytes,
                        detaches: true,
                    };
                }
                (true, PREFIX) => bytes.push(PREFIX),
                (true, _) => bytes.extend([PREFIX, byte]),
                (false, _) => bytes.push(byte),
            }
        }
        TypedInput {
            bytes,
            detaches: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut key = DetachKey::default();
        let mut all = Vec::new();
        for piece in pieces {
            let TypedInput { bytes, detaches } = key.filter(piece);
            all.extend(bytes);
            if detaches {
                return (all, true);
            }
        }
        (all, false)
    }

    #[test]
    fn prefix_and_d_detach_also_in_two_pieces() {
        assert_eq!(filtered(&[b"ab\x1ddc"]), (b"ab".to_vec(), true));
        assert_eq!(filtered(&[b"ab\x1d", b"d"]), (b"ab".to_vec(), true));
    }

    #[test]
    fn other_keys_are_passed_on() {
        assert_eq!(filtered(&[b"\x1d\x1dd"]), (b"\x1dd".to_vec(), false));
        assert_eq!(filtered(&[b"\x1d", b"x"]), (b"\x1dx".to_vec(), false));
        assert_eq!(filtered(&[b"plain d"]), (b"plain d".to_vec(), false));
    }
}
