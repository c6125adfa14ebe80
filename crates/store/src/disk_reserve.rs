//! Disk space reserved for the ends of jobs.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use tollgate_host::guarded;

/// Size of the reserve, in bytes: about 10,000 ends of jobs, and a snapshot.
const RESERVE_BYTES: u64 = 4 << 20;

/// A file that reserves disk space. It is deleted once the disk is full.
#[derive(Debug)]
pub(crate) struct DiskReserve(PathBuf);

impl DiskReserve {
    /// Returns the reserve next to the store at `path`.
    pub(crate) fn for_store(path: &Path) -> Self {
        Self(path.with_file_name("reserve"))
    }

    /// Allocates the reserve; returns false if the disk is full or the file cannot be created.
    pub(crate) fn acquire(&self) -> bool {
        let found = fs::symlink_metadata(&self.0);
        match found {
            Ok(found) if found.is_file() && found.len() >= RESERVE_BYTES => return true,
            // The name is the reserve's, whatever was put there.
            Ok(found) if !found.is_file() => drop(fs::remove_file(&self.0)),
            Ok(_) | Err(_) => {}
        }
        self.allocate().is_some()
    }

    fn allocate(&self) -> Option<()> {
        let file = guarded::open_or_create(&self.0).ok()?;
        let taken = fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES);
        if taken.is_err() {
            // A partial reserve would only make the disk fuller.
            let _ = fs::remove_file(&self.0);
        }
        taken.ok()
    }

    /// Frees the reserve; returns false if there was none.
    pub(crate) fn release(&self) -> bool {
        fs::remove_file(&self.0).is_ok()
    }
}
