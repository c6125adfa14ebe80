//! The events of files and directories, as the kernel reports them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// The files and directories that are watched.
pub(super) struct FileEvents(OwnedFd);

/// An event of a watched file, or of a file in a watched directory.
pub(super) struct FileEvent {
    /// The watch, as [`FileEvents::watch`] has returned it.
    pub(super) watch: i32,
    /// The name of the file in a directory.
    pub(super) name: Option<String>,
    /// Whether the watch has ended with its file.
    pub(super) is_end: bool,
}

impl FileEvents {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(inotify::init(
            CreateFlags::NONBLOCK | CreateFlags::CLOEXEC,
        )?))
    }

    /// Watches a file or a directory, and returns the number of the watch.
    pub(super) fn watch(&self, path: &Path, events: WatchFlags) -> io::Result<i32> {
        Ok(inotify::add_watch(&self.0, path, events)?)
    }

    /// Ends a watch.
    pub(super) fn end_watch(&self, watch: i32) {
        // A watch may have ended with its file.
        let _ = inotify::remove_watch(&self.0, watch);
    }

    /// Returns the events that have arrived.
    pub(super) fn take(&self) -> Vec<FileEvent> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut events = Vec::new();
        // The first error says that no event is left.
        while let Ok(event) = reader.next() {
            let name = event.file_name().and_then(|name| name.to_str().ok());
            events.push(FileEvent {
                watch: event.wd(),
                name: name.map(str::to_owned),
                is_end: event.events().contains(ReadFlags::IGNORED),
            });
        }
        events
    }
}

impl AsFd for FileEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
