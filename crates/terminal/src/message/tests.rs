//! Messages in pieces, of other versions, and malformed ones.

use proptest::prelude::*;

use super::*;

fn client_messages() -> Vec<ClientMessage> {
    let window = WindowSize::new(80, 24);
    let attach = |access, window| ClientMessage::Attach { access, window };
    vec![
        attach(TerminalAccess::ReadOnly, None),
        attach(TerminalAccess::Write, window),
        attach(TerminalAccess::TakeOver, WindowSize::new(u16::MAX, 1)),
        ClientMessage::DetachAll,
        ClientMessage::Input(vec![0; MAX_CONTENTS]),
        ClientMessage::Input(Vec::new()),
        ClientMessage::EndOfInput,
        ClientMessage::Window(WindowSize::new(300, 2).unwrap()),
        ClientMessage::Detach,
        ClientMessage::Ping,
    ]
}

fn holder_messages() -> Vec<HolderMessage> {
    vec![
        HolderMessage::Attached,
        HolderMessage::Occupied { since_s: u64::MAX },
        HolderMessage::Output(b"text".to_vec()),
        HolderMessage::Ended(255),
        HolderMessage::Detached(DetachReason::Own),
        HolderMessage::Detached(DetachReason::TakenOver),
        HolderMessage::Detached(DetachReason::AllDetached),
        HolderMessage::Detached(DetachReason::Stalled),
        HolderMessage::AllDetached(7),
        HolderMessage::Pong,
    ]
}

/// Sends messages in pieces of `size` bytes, and returns what arrives.
fn transmit<M: TerminalMessage>(messages: &[M], size: usize) -> Vec<M> {
    let mut bytes = GREETING.to_vec();
    bytes.extend(messages.iter().flat_map(TerminalMessage::encode));
    let (mut decoder, mut received) = (MessageDecoder::default(), Vec::new());
    for piece in bytes.chunks(size) {
        decoder.push(piece);
        while let Some(message) = decoder.next_message().unwrap() {
            received.push(message);
        }
    }
    assert!(decoder.bytes.is_empty());
    received
}

#[test]
fn messages_arrive_in_pieces_of_any_size() {
    for size in [1, 3, 4, 5, 1_000, usize::MAX] {
        assert_eq!(transmit(&client_messages(), size), client_messages());
        assert_eq!(transmit(&holder_messages(), size), holder_messages());
    }
}

#[test]
fn other_version_differs_from_other_protocol() {
    let error = |bytes: &[u8]| {
        let mut decoder = MessageDecoder::default();
        decoder.push(bytes);
        decoder.next_message::<HolderMessage>()
    };
    assert_eq!(error(b"tty\x02"), Err(MessageError::OtherVersion(2)));
    assert_eq!(error(b"HTTP/1.1"), Err(MessageError::NoTerminal));
    assert_eq!(error(b"tx"), Err(MessageError::NoTerminal));
    assert_eq!(error(b"tt"), Ok(None));
}

#[test]
fn malformed_messages_are_rejected() {
    let long = (MAX_CONTENTS as u32 + 1).to_le_bytes();
    for bytes in [
        &b"?\0\0\0\0"[..],
        b"D\x01\0\0\0x",
        b"A\0\0\0\0",
        b"A\x05\0\0\0\x03\0\0\0\0",
        b"W\x04\0\0\0\0\0\0\0",
        &[b'I', long[0], long[1], long[2], long[3]],
    ] {
        let mut decoder = MessageDecoder::default();
        decoder.push(&GREETING);
        decoder.push(bytes);
        let result = decoder.next_message::<ClientMessage>();
        assert_eq!(result, Err(MessageError::Malformed), "{bytes:?}");
    }
}

proptest! {
    /// Whatever arrives, the decoder returns, and what it takes for a message is one.
    #[test]
    fn any_bytes_are_decoded_or_rejected(
        greeted in any::<bool>(),
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
    ) {
        let mut decoder = MessageDecoder::default();
        if greeted {
            decoder.push(&GREETING);
        }
        for piece in pieces {
            decoder.push(&piece);
            loop {
                match decoder.next_message::<ClientMessage>() {
                    Ok(Some(message)) => {
                        let (kind, contents) = message.parts();
                        prop_assert_eq!(ClientMessage::from_parts(kind, &contents), Some(message));
                    }
                    Ok(None) => break,
                    Err(_) => return Ok(()),
                }
            }
        }
    }
}
