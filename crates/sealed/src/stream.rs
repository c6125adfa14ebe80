//! Messages on a byte stream between two processes that share a secret: encrypted, and rejected unless
//! they arrive unchanged, once, and in order.
//!
//! Each side begins with random bytes. The keys of both directions follow from these and the secret, so
//! that a recorded connection is of no use later. A message is its length, and its ChaCha20-Poly1305
//! ciphertext (RFC 8439) with its number as the nonce.

use std::io::{self, Read, Write};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tollgate_host::random_bytes;

/// Length of the secret, in bytes.
const SECRET_BYTES: usize = 32;
/// Length of the random bytes of a side.
const SALT_BYTES: usize = 16;
/// Maximum length of a message on the stream, in bytes: the largest environment fits.
const MAX_BYTES: u32 = 16 << 20;

/// Maximum length of the first message of a part, in bytes: it proves that the part has the secret, and
/// memory that a stranger fills is wasted.
const MAX_PROOF_BYTES: u32 = 1 << 10;

/// The secret that a lead shares with its parts.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret([u8; SECRET_BYTES]);

/// The sending side of a sealed stream.
pub struct SealedWriter {
    stream: Box<dyn Write + Send>,
    key: LessSafeKey,
    count: u64,
}

/// The receiving side of a sealed stream.
pub struct SealedReader {
    stream: Box<dyn Read + Send>,
    key: LessSafeKey,
    count: u64,
    /// Maximum length of the next message, in bytes.
    max_bytes: u32,
}

/// Both sides of a sealed stream.
pub type SealedPair = (SealedReader, SealedWriter);

impl SealedSecret {
    /// Draws a new secret.
    ///
    /// # Errors
    /// If there are no random numbers.
    pub fn random() -> io::Result<Self> {
        Ok(Self(random_bytes()?))
    }

    /// Returns the secret in hexadecimal.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Parses a secret in hexadecimal. None for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut secret = [0; SECRET_BYTES];
        if text.len() != 2 * SECRET_BYTES || !text.is_ascii() {
            return None;
        }
        for (at, byte) in secret.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(secret))
    }

    fn key(&self, label: &[u8], greeting: &[u8]) -> io::Result<LessSafeKey> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let derived = hmac::sign(&key, &[label, greeting].concat());
        let key = UnboundKey::new(&CHACHA20_POLY1305, derived.as_ref());
        Ok(LessSafeKey::new(key.map_err(|_| broken())?))
    }

    fn pair(
        &self,
        read: Box<dyn Read + Send>,
        write: Box<dyn Write + Send>,
        (theirs, ours): (&[u8], &[u8]),
        greeting: &[u8],
    ) -> io::Result<SealedPair> {
        let reader = SealedReader {
            stream: read,
            key: self.key(theirs, greeting)?,
            count: 0,
            max_bytes: MAX_BYTES,
        };
        let writer = SealedWriter {
            stream: write,
            key: self.key(ours, greeting)?,
            count: 0,
        };
        Ok((reader, writer))
    }
}

/// Opens a stream as part `index`.
///
/// # Errors
/// If the stream breaks, or there are no random numbers.
pub fn open_as_part(
    mut read: Box<dyn Read + Send>,
    mut write: Box<dyn Write + Send>,
    secret: &SealedSecret,
    index: u32,
) -> io::Result<SealedPair> {
    let own: [u8; SALT_BYTES] = random_bytes()?;
    let own = [&index.to_le_bytes()[..], &own].concat();
    write.write_all(&own)?;
    let mut theirs = [0; SALT_BYTES];
    read.read_exact(&mut theirs)?;
    let greeting = [own, theirs.to_vec()].concat();
    secret.pair(read, write, (b"lead", b"part"), &greeting)
}

/// Opens a stream as the lead, and returns the number of the part on the other end. That the part has
/// the secret is known from its first message.
///
/// # Errors
/// If the stream breaks, or there are no random numbers.
pub fn open_as_lead(
    mut read: Box<dyn Read + Send>,
    mut write: Box<dyn Write + Send>,
    secret: &SealedSecret,
) -> io::Result<(u32, SealedPair)> {
    let mut theirs = [0; 4 + SALT_BYTES];
    read.read_exact(&mut theirs)?;
    let own: [u8; SALT_BYTES] = random_bytes()?;
    write.write_all(&own)?;
    let greeting = [&theirs[..], &own].concat();
    let mut pair = secret.pair(read, write, (b"part", b"lead"), &greeting)?;
    pair.0.max_bytes = MAX_PROOF_BYTES;
    let index = u32::from_le_bytes([theirs[0], theirs[1], theirs[2], theirs[3]]);
    Ok((index, pair))
}

impl SealedWriter {
    /// Sends a message.
    ///
    /// # Errors
    /// If the stream breaks, or the message is too long.
    pub fn send<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        let mut bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
        let nonce = next_nonce(&mut self.count);
        let sealed = self
            .key
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut bytes);
        sealed.map_err(|_| broken())?;
        let length = u32::try_from(bytes.len())
            .ok()
            .filter(|length| *length <= MAX_BYTES);
        let length = length.ok_or(io::ErrorKind::FileTooLarge)?;
        // One write, so that the length does not travel alone.
        bytes.splice(0..0, length.to_le_bytes());
        self.stream.write_all(&bytes)?;
        self.stream.flush()
    }
}

impl SealedReader {
    /// Waits for the next message.
    ///
    /// # Errors
    /// If the stream ends, or the message was not sent so by a process with the secret.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > self.max_bytes {
            return Err(broken());
        }
        // Memory is taken for what arrives, not for what is announced.
        let mut bytes = Vec::new();
        let read = (&mut self.stream)
            .take(u64::from(length))
            .read_to_end(&mut bytes)?;
        if read < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let nonce = next_nonce(&mut self.count);
        let opened = self.key.open_in_place(nonce, Aad::empty(), &mut bytes);
        let opened = opened.map_err(|_| broken())?;
        self.max_bytes = MAX_BYTES;
        postcard::from_bytes(opened).map_err(io::Error::other)
    }
}

/// Reads `data` as a sealed stream under a known secret, for fuzz targets. Returns whether there is a
/// message in it: bytes that no one has sealed are rejected, whatever length they announce.
pub fn has_message<T: DeserializeOwned>(data: &[u8]) -> bool {
    let secret = SealedSecret([7; SECRET_BYTES]);
    let Ok(key) = secret.key(b"part", b"greeting") else {
        return false;
    };
    let mut reader = SealedReader {
        stream: Box::new(io::Cursor::new(data.to_owned())),
        key,
        count: 0,
        max_bytes: MAX_BYTES,
    };
    reader.receive::<T>().is_ok()
}

fn next_nonce(count: &mut u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&count.to_le_bytes());
    *count += 1;
    Nonce::assume_unique_for_key(nonce)
}

fn broken() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the other end does not share the secret, or the bytes were changed",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    fn boxed(stream: &UnixStream) -> (Box<dyn Read + Send>, Box<dyn Write + Send>) {
        let copy = || stream.try_clone().unwrap();
        (Box::new(copy()), Box::new(copy()))
    }

    /// Opens both ends, with one secret each.
    fn open(lead: SealedSecret, part: SealedSecret) -> (SealedPair, SealedPair) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let opening = thread::spawn(move || {
            let (read, write) = boxed(&theirs);
            open_as_part(read, write, &part, 7).unwrap()
        });
        let (read, write) = boxed(&ours);
        let (index, pair) = open_as_lead(read, write, &lead).unwrap();
        assert_eq!(index, 7);
        (pair, opening.join().unwrap())
    }

    #[test]
    fn messages_arrive_in_order_in_both_directions() {
        let secret = SealedSecret::random().unwrap();
        let ((mut from_part, mut to_part), (mut from_lead, mut to_lead)) =
            open(secret.clone(), secret);
        to_part.send(&"one").unwrap();
        to_part.send(&"two").unwrap();
        to_lead.send(&3_u32).unwrap();
        assert_eq!(from_lead.receive::<String>().unwrap(), "one");
        assert_eq!(from_lead.receive::<String>().unwrap(), "two");
        assert_eq!(from_part.receive::<u32>().unwrap(), 3);
    }

    #[test]
    fn other_secret_and_changed_bytes_are_rejected() {
        let secret = || SealedSecret::random().unwrap();
        let (_lead, (_, mut to_lead)) = open(secret(), secret());
        to_lead.send(&1_u8).unwrap();
        let (mut from_part, _) = _lead;
        let error = from_part.receive::<u8>().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);

        let same = secret();
        let mut sent = Vec::new();
        let key = || same.key(b"a", b"b").unwrap();
        let mut bytes = postcard::to_stdvec("text").unwrap();
        key()
            .seal_in_place_append_tag(next_nonce(&mut 0), Aad::empty(), &mut bytes)
            .unwrap();
        sent.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
        sent.extend(bytes);
        for at in 4..sent.len() {
            let mut changed = sent.clone();
            changed[at] ^= 1;
            let mut reader = SealedReader {
                stream: Box::new(io::Cursor::new(changed)),
                key: key(),
                count: 0,
                max_bytes: MAX_BYTES,
            };
            assert!(reader.receive::<String>().is_err(), "byte {at}");
        }
        let mut twice = SealedReader {
            stream: Box::new(io::Cursor::new(sent.repeat(2))),
            key: key(),
            count: 0,
            max_bytes: MAX_BYTES,
        };
        assert_eq!(twice.receive::<String>().unwrap(), "text");
        assert!(twice.receive::<String>().is_err(), "a repeated message");
    }

    #[test]
    fn first_message_of_a_part_is_short() {
        let secret = SealedSecret::random().unwrap();
        let long = vec![0_u8; MAX_PROOF_BYTES as usize];
        for (first, is_taken) in [(&[][..], true), (&long, false)] {
            let ((mut from_part, _), (_from_lead, mut to_lead)) =
                open(secret.clone(), secret.clone());
            to_lead.send(&first).unwrap();
            assert_eq!(from_part.receive::<Vec<u8>>().is_ok(), is_taken);
            to_lead.send(&long).unwrap();
            assert_eq!(from_part.receive::<Vec<u8>>().is_ok(), is_taken);
        }
    }

    #[test]
    fn secret_survives_hexadecimal() {
        let secret = SealedSecret::random().unwrap();
        assert!(SealedSecret::from_hex(&secret.to_hex()) == Some(secret));
        for text in ["", "00", &"x".repeat(64), &"é".repeat(32)] {
            assert!(SealedSecret::from_hex(text).is_none(), "{text}");
        }
    }
}
