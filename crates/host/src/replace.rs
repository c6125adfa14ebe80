//! Durable replacement of a file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Replaces a file that only its owner can read. The new content is on disk when this returns; after a
/// crash the file has either the old or the new content, whole.
///
/// # Errors
/// If the file cannot be written; then the old content stays.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o600)
}

/// Replaces a file in the same way, with the rights that new files of the process have.
///
/// # Errors
/// If the file cannot be written; then the old content stays.
pub fn replace_public(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o666)
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let aside = aside(path);
    // A file that a crash left behind, or whatever another account put there: it is not opened.
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(mode)
        .open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    File::open(parent(path))?.sync_all()
}

/// Returns the name under which the new content is written.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".new");
    path.with_file_name(name)
}

/// Returns the directory of a file.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn content_is_replaced_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.toml");
        fs::write(&path, "old").unwrap();
        replace_private(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn link_in_place_of_the_new_content_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("boot"), dir.path().join("other"));
        fs::write(&other, "kept").unwrap();
        symlink(&other, dir.path().join("boot.new")).unwrap();
        replace_private(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read(&other).unwrap(), b"kept");
    }
}
