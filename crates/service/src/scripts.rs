//! Copies of the scripts that jobs run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
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

    /// Keeps a copy, and says where. It is on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, text: &str) -> io::Result<PathBuf> {
        let _writing = self.writing.lock();
        let made = DirBuilder::new().mode(0o700).create(&self.folder);
        made.or_else(|error| match error.kind() == ErrorKind::AlreadyExists {
            true => Ok(()),
            false => Err(error),
        })?;
        let sum = crc32fast::hash(text.as_bytes());
        // Different scripts may have the same sum: then the next name is tried.
        for place in 0_u32.. {
            let path = self.folder.join(format!("{sum:08x}-{place}"));
            match fs::read(&path) {
                Ok(bytes) if bytes == text.as_bytes() => return Ok(path),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.write(&path, text)?;
                    return Ok(path);
                }
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Writes beside it first, so that there is never half a script under its name.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let half = self.folder.join("half");
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
        file.sync_all()?;
        drop(file);
        fs::rename(&half, path)?;
        File::open(&self.folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scripts_are_kept_once_and_different_ones_apart() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = Scripts::new(folder.path().join("scripts"));
        let first = scripts.keep("#!/bin/sh\necho 1\n").unwrap();
        let second = scripts.keep("#!/bin/sh\necho 2\n").unwrap();
        assert_ne!(first, second);
        assert_eq!(scripts.keep("#!/bin/sh\necho 1\n").unwrap(), first);
        assert_eq!(fs::read_to_string(&first).unwrap(), "#!/bin/sh\necho 1\n");
        assert_eq!(
            fs::read_dir(folder.path().join("scripts")).unwrap().count(),
            2
        );
    }

    #[test]
    fn scripts_with_the_same_sum_are_not_mixed_up() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = Scripts::new(folder.path().to_owned());
        let text = "#!/bin/sh\n";
        let sum = crc32fast::hash(text.as_bytes());
        fs::write(folder.path().join(format!("{sum:08x}-0")), "another").unwrap();
        let path = scripts.keep(text).unwrap();
        assert_eq!(path, folder.path().join(format!("{sum:08x}-1")));
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }
}
