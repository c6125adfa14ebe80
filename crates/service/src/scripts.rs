//! Copies of the scripts that jobs run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Where copies of scripts are kept. Equal ones are kept once, and for as long as the service's
/// data: a job may be run again.
#[derive(Debug)]
pub struct Scripts {
    folder: PathBuf,
    /// Only one is written at a time.
    writing: Mutex<()>,
}

impl Scripts {
    /// Copies are kept in this folder; it is made with the first one.
    pub fn new(folder: PathBuf) -> Self {
        let writing = Mutex::new(());
        Self { folder, writing }
    }

    /// Keeps a copy that `user` alone can read and run, and says where. It is on disk when this
    /// returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, user: u32, text: &str) -> io::Result<PathBuf> {
        let _writing = self.writing.lock();
        let folder = self.folder.join(user.to_string());
        for folder in [&self.folder, &folder] {
            passable(folder)?;
        }
        let sum = crc32fast::hash(text.as_bytes());
        // Different scripts may have the same sum: then the next name is tried.
        for place in 0_u32.. {
            let path = folder.join(format!("{sum:08x}-{place}"));
            match fs::read(&path) {
                Ok(bytes) if bytes == text.as_bytes() => return Ok(path),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    write(&folder, &path, user, text)?;
                    return Ok(path);
                }
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

/// Makes a folder that others can pass through and see nothing in, if it is not there.
fn passable(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o711).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes beside it first, so that there is never half a script under its name.
fn write(folder: &Path, path: &Path, user: u32, text: &str) -> io::Result<()> {
    let half = folder.join("half");
    match fs::remove_file(&half) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o500)
        .open(&half)?;
    file.write_all(text.as_bytes())?;
    if file.metadata()?.uid() != user {
        fchown(&file, Some(user), None)?;
    }
    file.sync_all()?;
    drop(file);
    fs::rename(&half, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scripts_are_kept_once_and_different_ones_apart() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = Scripts::new(folder.path().join("scripts"));
        let own = fs::metadata(folder.path()).unwrap().uid();
        let first = scripts.keep(own, "#!/bin/sh\necho 1\n").unwrap();
        let second = scripts.keep(own, "#!/bin/sh\necho 2\n").unwrap();
        assert_ne!(first, second);
        assert_eq!(scripts.keep(own, "#!/bin/sh\necho 1\n").unwrap(), first);
        assert_eq!(fs::read_to_string(&first).unwrap(), "#!/bin/sh\necho 1\n");
        assert_eq!(fs::read_dir(first.parent().unwrap()).unwrap().count(), 2);
    }

    #[test]
    fn scripts_with_the_same_sum_are_not_mixed_up() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = Scripts::new(folder.path().to_owned());
        let own = fs::metadata(folder.path()).unwrap().uid();
        let text = "#!/bin/sh\n";
        let place = folder.path().join(own.to_string());
        fs::create_dir(&place).unwrap();
        let sum = crc32fast::hash(text.as_bytes());
        fs::write(place.join(format!("{sum:08x}-0")), "another").unwrap();
        let path = scripts.keep(own, text).unwrap();
        assert_eq!(path, place.join(format!("{sum:08x}-1")));
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }
}
