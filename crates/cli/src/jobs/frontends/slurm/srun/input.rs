//! Standard input of the tasks of a step: each task on this host reads all of it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

/// The size of the pieces in which a pipe is read, in bytes.
const PIECE: usize = 64 << 10;

/// The input of this process, and how it reaches the tasks.
#[derive(Debug)]
pub(super) struct StepInput {
    source: InputSource,
    readers: Vec<mpsc::Sender<Arc<[u8]>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputSource {
    /// The only task has the input itself.
    Own,
    /// A file, which each task reads from this position on.
    File(u64),
    /// Something that is read once: the pieces are passed on to each task.
    Stream,
    /// Nothing.
    Empty,
}

impl StepInput {
    /// Describes the input of a step with a number of tasks.
    pub(super) fn new(n_tasks: u32) -> Self {
        let source = match n_tasks {
            0 | 1 => InputSource::Own,
            _ => shared_source().unwrap_or(InputSource::Empty),
        };
        Self {
            source,
            readers: Vec::new(),
        }
    }

    /// Returns the input of the next task on this host.
    pub(super) fn next(&self) -> io::Result<Stdio> {
        Ok(match self.source {
            InputSource::Own => Stdio::inherit(),
            InputSource::Empty => Stdio::null(),
            InputSource::Stream => Stdio::piped(),
            InputSource::File(position) => {
                // Another opening of the file has a position of its own.
                let mut file = File::open("/proc/self/fd/0")?;
                file.seek(SeekFrom::Start(position))?;
                file.into()
            }
        })
    }

    /// Adds a task that has started: it gets what is read from now on.
    pub(super) fn add(&mut self, child: &mut Child) {
        let Some(mut to) = child.stdin.take() else {
            return;
        };
        let (sender, pieces) = mpsc::channel::<Arc<[u8]>>();
        self.readers.push(sender);
        // A task that reads nothing delays no other: its pieces wait in memory.
        thread::spawn(move || pieces.iter().try_for_each(|piece| to.write_all(&piece)));
    }

    /// Passes the input on to the tasks until it ends.
    pub(super) fn pass_on(self) {
        if !self.readers.is_empty() {
            thread::spawn(move || copy(io::stdin().lock(), self.readers));
        }
    }
}

fn shared_source() -> io::Result<InputSource> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    Ok(match () {
        () if kind.is_file() => InputSource::File(file.stream_position()?),
        () if kind.is_fifo() || kind.is_socket() => InputSource::Stream,
        // Of devices a terminal has something to read.
        () if rustix::termios::isatty(&file) => InputSource::Stream,
        () => InputSource::Empty,
    })
}

fn copy(mut from: impl Read, mut to: Vec<mpsc::Sender<Arc<[u8]>>>) {
    let mut piece = vec![0; PIECE];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        let read: Arc<[u8]> = Arc::from(&piece[..count]);
        // A task that has ended reads no more.
        to.retain(|task| task.send(Arc::clone(&read)).is_ok());
        if to.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_gets_all_pieces_and_one_that_ended_none() {
        let (first, of_first) = mpsc::channel();
        let (second, of_second) = mpsc::channel();
        let (gone, of_gone) = mpsc::channel();
        drop(of_gone);
        let text = vec![b'x'; PIECE + 7];
        copy(text.as_slice(), vec![first, gone, second]);
        for pieces in [of_first, of_second] {
            let all: Vec<u8> = pieces
                .iter()
                .flat_map(|piece: Arc<[u8]>| piece.to_vec())
                .collect();
            assert_eq!(all, text);
        }
    }
}
