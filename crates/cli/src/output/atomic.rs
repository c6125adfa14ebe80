//! An output that is standard output, or a file that appears only when complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write, stdout};
use std::path::{Path, PathBuf};
use std::process;

use flate2::Compression;
use flate2::write::GzEncoder;

/// An output for bytes.
pub(crate) struct AtomicOutput {
    /// The stream. None once the output is finished.
    stream: Option<OutputStream>,
    rename: Option<PendingRename>,
}

enum OutputStream {
    StandardOutput(BufWriter<Stdout>),
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

/// A temporary file that is renamed when complete. The input may be the same file, and half an
/// answer would look complete.
struct PendingRename {
    from: PathBuf,
    to: PathBuf,
}

impl AtomicOutput {
    pub(crate) fn standard_output() -> Self {
        Self {
            stream: Some(OutputStream::StandardOutput(BufWriter::new(stdout()))),
            rename: None,
        }
    }

    /// Opens the file at `path`, compressed if its name ends in `.gz`. A device or a pipe is
    /// written directly.
    pub(crate) fn file(path: &Path) -> io::Result<Self> {
        let is_special = fs::metadata(path).is_ok_and(|known| !known.is_file());
        let whole = (!is_special).then(|| PendingRename::to(path));
        let target = whole.as_ref().map_or(path, |whole| &whole.from);
        let file = BufWriter::new(File::create(target)?);
        let bytes = if path.extension().is_some_and(|ending| ending == "gz") {
            OutputStream::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
        } else {
            OutputStream::Plain(file)
        };
        Ok(Self {
            stream: Some(bytes),
            rename: whole,
        })
    }

    /// Writes all buffered bytes, and renames the temporary file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.stream.take() {
            Some(OutputStream::StandardOutput(mut out)) => out.flush()?,
            Some(OutputStream::Plain(mut file)) => file.flush()?,
            Some(OutputStream::Gzip(encoder)) => encoder.finish()?.flush()?,
            None => {}
        }
        if let Some(whole) = &self.rename {
            fs::rename(&whole.from, &whole.to)?;
        }
        self.rename = None;
        Ok(())
    }
}

impl PendingRename {
    fn to(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            from: path.with_file_name(format!(".{name}.{}.partial", process::id())),
            to: path.to_owned(),
        }
    }
}

/// Removes an unfinished temporary file.
impl Drop for AtomicOutput {
    fn drop(&mut self) {
        if let Some(whole) = &self.rename {
            // An error here is ignored: the failure that led here is already reported.
            let _ = fs::remove_file(&whole.from);
        }
    }
}

impl Write for AtomicOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open()?.flush()
    }
}

impl AtomicOutput {
    fn open(&mut self) -> io::Result<&mut dyn Write> {
        match &mut self.stream {
            Some(OutputStream::StandardOutput(out)) => Ok(out),
            Some(OutputStream::Plain(file)) => Ok(file),
            Some(OutputStream::Gzip(encoder)) => Ok(encoder.as_mut()),
            None => Err(io::Error::other("is finished")),
        }
    }
}
