//! Decompression of gzip data of several members, which zero bytes may follow: tapes and block devices
//! pad what they store, and `gzip` ignores that.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The two bytes with which a member begins.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A reader of the decompressed bytes of all members.
pub(crate) struct GzipReader<R> {
    /// None behind the last member.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipReader<R> {
    /// Creates a reader of the gzip data in `bytes`.
    pub(crate) fn new(bytes: R) -> Self {
        Self {
            member: Some(GzDecoder::new(bytes)),
        }
    }

    /// Begins the next member, if there is one behind the padding.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else {
            return Ok(());
        };
        let mut bytes = member.into_inner();
        loop {
            let buffer = match bytes.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let zeros = buffer.iter().take_while(|&&byte| byte == 0).count();
            let is_end = buffer.is_empty();
            let is_padding = zeros == buffer.len();
            bytes.consume(zeros);
            if is_end {
                return Ok(());
            }
            if !is_padding {
                self.member = Some(GzDecoder::new(bytes));
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let n = member.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    proptest! {
        /// Padding between and behind members changes nothing, however the data is buffered.
        #[test]
        fn zeros_around_members_are_ignored(
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..4),
            zeros in 0_usize..700,
            buffer in 1_usize..64,
        ) {
            let padded: Vec<u8> = texts.iter().flat_map(|text| [member(text), vec![0; zeros]].concat()).collect();
            let mut read = Vec::new();
            let mut reader = GzipReader::new(BufReader::with_capacity(buffer, padded.as_slice()));
            reader.read_to_end(&mut read).unwrap();
            prop_assert_eq!(read, texts.concat());
        }
    }

    #[test]
    fn other_bytes_behind_a_member_are_an_error() {
        let mut data = member(b"text");
        data.extend(b"\0\0junk and more");
        let read = GzipReader::new(data.as_slice()).read_to_end(&mut Vec::new());
        assert!(read.is_err());
    }
}
