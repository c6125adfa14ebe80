//! The fields of a `JOB_FINISH` record and their positions.

use crate::finding::Finding;
use crate::parse_field;
use crate::record_field::RecordField;

/// Number of fields of `lsfRusage` after the two times that are read.
const RUSAGE_REST: usize = 17;

/// The fields of a record that are used, as text; fields that only later versions have are empty
/// where they are missing.
pub(super) struct LsfRecord<'a> {
    pub(super) end: &'a [u8],
    pub(super) number: &'a [u8],
    pub(super) procs: &'a [u8],
    pub(super) submit: &'a [u8],
    pub(super) start: &'a [u8],
    pub(super) user: &'a [u8],
    pub(super) queue: &'a [u8],
    /// Number of slots on the execution hosts, if there were any.
    pub(super) slots: Option<u32>,
    /// Number of execution hosts, each counted once.
    pub(super) hosts: u64,
    pub(super) status: &'a [u8],
    pub(super) host_factor: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) command: &'a [u8],
    pub(super) user_time: &'a [u8],
    pub(super) system_time: &'a [u8],
    pub(super) project: &'a [u8],
    pub(super) index: &'a [u8],
    pub(super) max_memory: &'a [u8],
    pub(super) exit_info: &'a [u8],
    pub(super) estimate: &'a [u8],
    pub(super) run_limit: &'a [u8],
    pub(super) requirement: &'a [u8],
}

impl<'a> LsfRecord<'a> {
    /// Splits `text` into its fields, in the order of `lsb.acct(5)`.
    pub(super) fn split(text: &'a [u8]) -> Result<Self, Finding> {
        let mut words = LsfFields(text);
        // The type and the version.
        words.skip(2)?;
        let (end, number) = (words.next()?, words.next()?);
        words.skip(2)?;
        let (procs, submit) = (words.next()?, words.next()?);
        words.skip(2)?;
        let (start, user, queue) = (words.next()?, words.next()?, words.next()?);
        // Requirement, dependency, pre-execution command, submission host, directory, three files
        // and the job file come before the requested hosts.
        words.skip(9)?;
        let n_words = words.count()?;
        words.skip(n_words)?;
        let (slots, hosts) = words.hosts()?;
        let (status, host_factor) = (words.next()?, words.next()?);
        let name = words.next()?;
        let command = words.next()?;
        let (user_time, system_time) = (words.next()?, words.next()?);
        words.skip(RUSAGE_REST)?;
        let _mail = words.next()?;
        let project = words.next()?;
        let mut later = LsfLaterFields(words);
        // Exit status, widest request, shell and time event come before the index; the swap, two
        // spools, reservation, service class, exceptions and additional information before the exit
        // reason.
        let index = later.nth(4);
        let max_memory = later.nth(0);
        let exit_info = later.nth(7);
        let estimate = later.nth(6);
        let run_limit = later.run_limit();
        let requirement = later.nth(2);
        Ok(Self {
            end,
            number,
            procs,
            submit,
            start,
            user,
            queue,
            slots,
            hosts,
            status,
            host_factor,
            name,
            command,
            user_time,
            system_time,
            project,
            index,
            max_memory,
            exit_info,
            estimate,
            run_limit,
            requirement,
        })
    }
}

/// The fields of a record: words, or text in quotation marks.
struct LsfFields<'a>(&'a [u8]);

impl<'a> LsfFields<'a> {
    fn next(&mut self) -> Result<&'a [u8], Finding> {
        self.word().ok_or(Finding::ShortRecord)
    }

    fn skip(&mut self, n: usize) -> Result<(), Finding> {
        (0..n).try_for_each(|_| self.next().map(drop))
    }

    /// Parses the length of the list that follows.
    fn count(&mut self) -> Result<usize, Finding> {
        let count = parse_field::count(self.next()?, RecordField::Procs)?;
        // A list cannot have more elements than there are bytes left.
        let count = usize::try_from(count).map_err(|_| Finding::ShortRecord)?;
        (count <= self.0.len())
            .then_some(count)
            .ok_or(Finding::ShortRecord)
    }

    /// Parses the list of hosts that follows; returns the number of slots and of hosts. Equal hosts
    /// are adjacent.
    fn hosts(&mut self) -> Result<(Option<u32>, u64), Finding> {
        let (mut slots, mut hosts, mut last) = (0u32, 0, &[][..]);
        for _ in 0..self.count()? {
            let text = self.next()?;
            let star = text.iter().position(|&byte| byte == b'*');
            let (count, host) = match star {
                Some(at) => (&text[..at], &text[at + 1..]),
                None => (&b"1"[..], text),
            };
            let count = parse_field::procs(count).ok().flatten();
            slots = slots.saturating_add(count.unwrap_or(0));
            hosts += u64::from(host != last);
            last = host;
        }
        let slots = parse_field::procs(slots.to_string().as_bytes())?;
        Ok((slots, hosts.max(1)))
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        let text = self.0.trim_ascii_start();
        let Some(quoted) = text.strip_prefix(b"\"") else {
            let end = text.iter().position(u8::is_ascii_whitespace);
            let (word, rest) = text.split_at(end.unwrap_or(text.len()));
            self.0 = rest;
            return (!word.is_empty()).then_some(word);
        };
        let end = closing_quote(quoted)?;
        self.0 = &quoted[end + 1..];
        Some(&quoted[..end])
    }
}

/// Returns the position of the first quotation mark that is not doubled.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr(b'"', &text[from..])?;
        if text.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// The fields that were added in later versions: empty where the record ends.
struct LsfLaterFields<'a>(LsfFields<'a>);

impl<'a> LsfLaterFields<'a> {
    /// Returns the field after `n` others.
    fn nth(&mut self, n: usize) -> &'a [u8] {
        for _ in 0..n {
            self.0.word();
        }
        self.0.word().unwrap_or_default()
    }

    /// Returns the run limit, after two lists. These are further options in pairs, and the usage of each
    /// host: its name, memory, swap, user time, system time and the time at which it was measured.
    fn run_limit(&mut self) -> &'a [u8] {
        // Job group, requeue values, options, resize command and time, reservation and description.
        self.nth(6);
        for per_element in [2, 6] {
            let Ok(count) = self.0.count() else {
                return &[];
            };
            for _ in 0..count * per_element {
                self.0.word();
            }
        }
        self.nth(0)
    }
}
