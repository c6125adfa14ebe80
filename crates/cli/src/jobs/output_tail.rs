//! The end of the output of a job, from a file of this host.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use tollgate_client::types::JobDetails;
use tollgate_overview::output::{OutputReader, OutputTail, RunHost};

use super::logs::is_host_of;

/// The host on which this command runs, as its user.
pub(crate) struct ThisHost;

impl OutputReader for ThisHost {
    fn output_tail(&self, job: &JobDetails, most: u64, run: RunHost) -> Option<OutputTail> {
        let file = Path::new(job.output.as_deref()?);
        match run {
            RunHost::Here if !is_host_of(job) => None,
            RunHost::Here | RunHost::Anywhere => read_tail(file, most).ok(),
        }
    }
}

/// Reads the end of a regular file. A pipe or a device could take forever.
fn read_tail(file: &Path, most: u64) -> io::Result<OutputTail> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(file)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let size = about.len();
    file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(OutputTail { bytes, size })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn end_of_a_file_is_read_and_pipes_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out");
        fs::write(&file, "one\ntwo\n").unwrap();
        let tail = read_tail(&file, 4).unwrap();
        assert_eq!((tail.bytes.as_slice(), tail.size), (b"two\n".as_slice(), 8));
        assert!(read_tail(Path::new("/dev/null"), 4).is_err());
        assert!(read_tail(&dir.path().join("none"), 4).is_err());
    }
}
