//! The connection of a part: its order of messages, and its output.

use std::io::{self, Read, Write};
use std::sync::mpsc::Sender;

use super::{LeadEvent, send_event};
use crate::message::{CopyStream, PartMessage};
use tollgate_sealed::{SealedReader, SealedSecret, open_as_lead};

/// Serves a connection until it ends. A connection that does not prove to be a part is dropped.
pub(super) fn serve(
    (read, write): (Box<dyn Read + Send>, Box<dyn Write + Send>),
    secret: &SealedSecret,
    to: &Sender<LeadEvent>,
    joined: impl FnOnce(),
) {
    let Ok((index, (mut reader, writer))) = open_as_lead(read, write, secret) else {
        return;
    };
    let index = index as usize;
    if !matches!(reader.receive(), Ok(PartMessage::Ready)) {
        return;
    }
    joined();
    send_event(to, LeadEvent::Joined(index, Box::new(writer)));
    pass_on(index, &mut reader, to);
    send_event(to, LeadEvent::Closed(index));
}

fn pass_on(index: usize, reader: &mut SealedReader, to: &Sender<LeadEvent>) {
    while let Ok(message) = reader.receive::<PartMessage>() {
        match message {
            PartMessage::Output(stream, bytes) => {
                if write(stream, &bytes).is_err() {
                    return send_event(to, LeadEvent::OutputClosed);
                }
            }
            PartMessage::Ready | PartMessage::Exited { .. } | PartMessage::Failed { .. } => {
                send_event(to, LeadEvent::Message(index, message));
            }
        }
    }
}

/// Writes a piece at once, so that the lines of copies are not mixed. A slow reader keeps the copies
/// waiting, and nothing else.
fn write(stream: CopyStream, bytes: &[u8]) -> io::Result<()> {
    match stream {
        CopyStream::Output => {
            let mut output = io::stdout().lock();
            output.write_all(bytes)?;
            output.flush()
        }
        CopyStream::Error => io::stderr().lock().write_all(bytes),
    }
}
