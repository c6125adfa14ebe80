//! Copies of the scripts that jobs run.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// A copy that nobody needs is kept for so long after it was last handed in: the job that it came
/// with may not be known yet.
const SPARED: Duration = Duration::from_secs(3_600);

/// Where copies of scripts are kept. Equal ones are kept once, and for as long as a job that is not
/// over runs them: it may be run again.
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
                Ok(bytes) if bytes == text.as_bytes() => {
                    File::open(&path)?.set_modified(SystemTime::now())?;
                    return Ok(path);
                }
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

    /// Deletes copies that are not among those that are `needed`, which is asked for once nobody can hand in
    /// another script, and that were not handed in for an hour; says how many.
    ///
    /// # Errors
    /// If a folder cannot be read or a file not be deleted, or whatever `needed` says.
    pub fn sweep<E: From<io::Error>>(
        &self,
        needed: impl FnOnce() -> Result<BTreeSet<PathBuf>, E>,
    ) -> Result<usize, E> {
        let _writing = self.writing.lock();
        let needed = needed()?;
        let mut swept = 0;
        for user in entries(&self.folder)? {
            for copy in entries(&user)? {
                let age = fs::metadata(&copy)?.modified()?.elapsed();
                // A clock that was set back makes files of the future, which are spared.
                let old = age.is_ok_and(|age| age >= SPARED);
                if old && !needed.contains(&copy) {
                    fs::remove_file(&copy)?;
                    swept += 1;
                }
            }
        }
        Ok(swept)
    }
}

/// What is in a folder; nothing if it is not there.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
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
    fn copies_that_no_job_needs_are_deleted_once_they_are_old() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = Scripts::new(folder.path().join("scripts"));
        let sweep = |needed: &[&PathBuf]| {
            let needed = needed.iter().copied().cloned().collect();
            scripts.sweep(|| Ok::<_, io::Error>(needed)).unwrap()
        };
        assert_eq!(sweep(&[]), 0);
        let own = fs::metadata(folder.path()).unwrap().uid();
        let [one, two, three] = ["1", "2", "3"].map(|text| scripts.keep(own, text).unwrap());
        let long_ago = SystemTime::now() - 2 * SPARED;
        for copy in [&one, &two, &three] {
            File::open(copy).unwrap().set_modified(long_ago).unwrap();
        }
        // The third is handed in again.
        scripts.keep(own, "3").unwrap();
        assert_eq!(sweep(&[&one]), 1);
        assert_eq!(
            [one, two, three].map(|copy| copy.exists()),
            [true, false, true]
        );
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
