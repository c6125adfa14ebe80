//! Detection of a format by content and never by name, and the reader of each format.

use std::io::BufRead;

use memchr::memchr;

use crate::error::{BinaryKind, ReadError, excerpt};
use crate::foreign_format::ForeignFormat;
use crate::format::TraceFormat;
use crate::options::ReadOptions;
use crate::trace::Trace;
use crate::trace_sink::TraceSink;
use crate::{condor, gwf, job_table, logins, lsf, pbs, sge, slurm, swf};

impl TraceFormat {
    /// Returns the format of a file that begins with `prefix`.
    pub(crate) fn of(prefix: &[u8]) -> Result<Self, ReadError> {
        let found = BinaryKind::of(prefix);
        if found != BinaryKind::Unknown {
            return Err(ReadError::Binary { found });
        }
        if let Some(found) = ForeignFormat::of(prefix) {
            return Err(ReadError::Foreign { found });
        }
        // A crash leaves zero bytes in text; what stands behind them is a line.
        let has_zeros = memchr(0, prefix).is_some();
        let mut lines = (1..).zip(prefix.split(|&byte| byte == b'\n' || byte == 0));
        let (line, first) = lines
            .find(|(_, line)| !line.trim_ascii().is_empty())
            .ok_or(match has_zeros {
                true => ReadError::Binary { found },
                false => ReadError::Empty,
            })?;
        if let Some(format) = Self::of_start(first, prefix) {
            return Ok(format);
        }
        if logins::matches_format(first) {
            return Err(ReadError::Logins);
        }
        let others = lines.map(|(_, line)| line);
        if let Some(format) = [first]
            .into_iter()
            .chain(others.clone())
            .find_map(Self::of_record)
        {
            return Ok(format);
        }
        if has_zeros {
            let is_swf = swf::is_whole_record(first) || others.clone().any(swf::is_whole_record);
            return is_swf
                .then_some(Self::Swf)
                .ok_or(ReadError::Binary { found });
        }
        if Self::is_swf(first, others) {
            return Ok(Self::Swf);
        }
        Err(ReadError::UnknownFormat {
            line,
            found: excerpt(first),
        })
    }

    /// Returns whether a file with these lines is SWF. Its first line decides, or, behind a line of text, a
    /// record with all of its fields, unless the text names the columns of another format.
    fn is_swf<'a>(first: &[u8], mut others: impl Iterator<Item = &'a [u8]>) -> bool {
        if swf::matches_format(first) {
            return true;
        }
        let record = others.find(|line| swf::is_whole_record(line));
        record.is_some_and(|record| !swf::is_header_of(first, record))
    }

    /// Returns the format that the beginning of a file indicates by itself, without a record.
    fn of_start(first: &[u8], prefix: &[u8]) -> Option<Self> {
        let first_byte = first.trim_ascii_start().first();
        match first_byte {
            Some(b';') => Some(Self::Swf),
            Some(b'[' | b'{') if condor::json::matches_format(prefix) => Some(Self::CondorJson),
            Some(b'{') if slurm::json::matches_format(prefix) => Some(Self::SlurmJson),
            _ if job_table::separator(first).is_some() => Some(Self::Table),
            _ => None,
        }
    }

    /// Returns the format in which `line` is a record, or begins one. No line is a record in two
    /// formats.
    fn of_record(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let known = [
            (sge::is_record as fn(&[u8]) -> bool, Self::GridEngine),
            (slurm::matches_format, Self::Slurm),
            (pbs::begins_record, Self::Pbs),
            (lsf::begins_record, Self::Lsf),
            (slurm::events::is_event, Self::SlurmEvents),
            (condor::events::begins_event, Self::CondorEvents),
            (condor::history::is_attribute, Self::CondorHistory),
            (gwf::matches_format, Self::Gwf),
        ];
        known
            .into_iter()
            .find_map(|(is_record, format)| is_record(line).then_some(format))
    }

    /// Reads the jobs in `reader`, which has this format, through `sink`.
    pub(crate) fn read(
        self,
        sink: &mut TraceSink<'_>,
        source: &str,
        reader: impl BufRead,
        options: ReadOptions,
    ) -> Result<Trace, ReadError> {
        let trace = match self {
            Self::Swf => swf::read_to(sink, source, reader, options),
            Self::Gwf => gwf::read_to(sink, source, reader, options),
            Self::GridEngine => sge::read_to(sink, source, reader, options),
            Self::Slurm => slurm::read_to(sink, source, reader, options),
            Self::SlurmJson => slurm::json::read_to(sink, source, reader, options),
            Self::SlurmEvents => slurm::events::read_to(sink, source, reader, options),
            Self::Pbs => pbs::read_to(sink, source, reader, options),
            Self::Lsf => lsf::read_to(sink, source, reader, options),
            Self::CondorHistory => condor::history::read_to(sink, source, reader, options),
            Self::CondorJson => condor::json::read_to(sink, source, reader, options),
            Self::CondorEvents => condor::events::read_to(sink, source, reader, options),
            Self::Table => job_table::read_to(sink, source, reader, options),
        };
        trace.map(|mut trace| {
            trace.format = Some(self);
            trace
        })
    }
}
