//! Chunks of nodes: `nodes=2:ppn=4+1:ppn=2`, `nodes=node07:ppn=4`, `select=2:ncpus=4:mem=2gb`.

use tollgate_client::typed_amount::parse_memory;

use crate::error::FrontendError;
use crate::options::ParsedOption;

/// The sums over a list of chunks. A job is not told on how many hosts it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkTotals {
    /// The number of processors.
    pub(crate) procs: u32,
    /// The memory in bytes; None if no chunk says how much.
    pub(crate) memory: Option<u64>,
    /// The number of GPUs; None without any.
    pub(crate) gpus: Option<u8>,
}

/// One chunk, `2:ncpus=4:mem=2gb`.
struct Chunk {
    count: u32,
    procs_each: u32,
    memory: Option<u64>,
    gpus: u32,
    names_host: bool,
}

/// Receives the host that a chunk names.
type AddHost<'a> = dyn FnMut(&str) -> Result<(), FrontendError> + 'a;

impl ChunkTotals {
    /// Parses chunks joined by `+` in the resource `name`, which is `nodes` or `select`.
    ///
    /// # Errors
    /// The first part of a chunk that is invalid, or the error of `add_host`.
    pub(crate) fn parse(
        given: &ParsedOption,
        name: &str,
        value: &str,
        add_host: &mut AddHost<'_>,
    ) -> Result<Self, FrontendError> {
        let mut totals = Self::default();
        let mut gpus = 0_u32;
        let (mut n_chunks, mut n_on_host) = (0_u32, 0_u32);
        for chunk in value.split('+') {
            let chunk = Chunk::parse(given, name, chunk, add_host)?;
            let procs = chunk.count.saturating_mul(chunk.procs_each);
            totals.procs = totals.procs.saturating_add(procs);
            if let Some(bytes) = chunk.memory {
                let before = totals.memory.unwrap_or(0);
                totals.memory = Some(before.saturating_add(bytes));
            }
            gpus = gpus.saturating_add(chunk.gpus);
            n_chunks += 1;
            n_on_host += u32::from(chunk.names_host);
        }
        if n_on_host > 0 && n_on_host < n_chunks {
            let message = format!("{name}: expected one host for all chunks, or none");
            return Err(given.invalid_value(message));
        }
        if gpus > 0 {
            let gpus = u8::try_from(gpus);
            let too_many = |_| given.invalid_value(format!("{name}: more than 255 GPUs"));
            totals.gpus = Some(gpus.map_err(too_many)?);
        }
        Ok(totals)
    }
}

impl Chunk {
    fn parse(
        given: &ParsedOption,
        name: &str,
        text: &str,
        add_host: &mut AddHost<'_>,
    ) -> Result<Self, FrontendError> {
        let mut parts = text.split(':').peekable();
        let first = parts.peek().copied().unwrap_or_default();
        let is_count = first.bytes().all(|byte| byte.is_ascii_digit());
        let mut chunk = Self {
            count: 1,
            procs_each: 1,
            memory: None,
            gpus: 0,
            names_host: false,
        };
        match (name, is_count, first.contains('=')) {
            // PBS names a host in the place of a number, and counts one chunk without a number.
            ("nodes", false, false) => {
                parts.next();
                add_host(first)?;
                chunk.names_host = true;
            }
            ("select", false, true) => {}
            (_, _, _) => {
                parts.next();
                let count = first.parse().ok().filter(|&count| count > 0);
                chunk.count = count.ok_or_else(|| {
                    let expected = format!("{name}: expected a number of nodes, got `{text}`");
                    given.invalid_value(expected)
                })?;
            }
        }
        for part in parts {
            let (key, amount) = part.split_once('=').unwrap_or((part, ""));
            let number = amount.parse::<u32>().ok().filter(|&number| number > 0);
            match (key, number) {
                ("host", _) if name == "select" => {
                    add_host(amount)?;
                    chunk.names_host = true;
                }
                ("ppn" | "ncpus", Some(number)) => chunk.procs_each = number,
                ("gpus" | "ngpus", Some(number)) => {
                    let more = chunk.count.saturating_mul(number);
                    chunk.gpus = chunk.gpus.saturating_add(more);
                }
                // The program itself decides how to use the processors.
                ("mpiprocs" | "ompthreads", Some(_)) => {}
                ("mem" | "vmem", _) => {
                    let bytes = memory(amount)
                        .map_err(|message| given.invalid_value(format!("{name}: {message}")))?;
                    let bytes = bytes.saturating_mul(u64::from(chunk.count));
                    chunk.memory = Some(chunk.memory.unwrap_or(0).saturating_add(bytes));
                }
                _ => {
                    return Err(given.invalid_value(format!("{name}: unknown part `{part}`")));
                }
            }
        }
        Ok(chunk)
    }
}

/// Parses a size in bytes. PBS also counts in words of eight bytes (`2gw`).
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    let text = text.to_ascii_lowercase();
    match text.strip_suffix('w') {
        Some(amount) => Ok(parse_memory(amount)?.saturating_mul(8)),
        None => parse_memory(&text),
    }
}
