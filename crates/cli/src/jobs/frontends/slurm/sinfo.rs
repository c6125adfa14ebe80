//! `sinfo`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use tollgate_client::limits::MAX_JOBS;
use tollgate_client::types::JobList;
use tollgate_frontends::slurm::getopt::{OptionRule, OptionValue, TypedOption, rule};
use tollgate_frontends::slurm::hosts::compress;
use tollgate_frontends::slurm::{CLUSTER_NAME, DEFAULT_PARTITION, SlurmError, check_clusters};

use super::failure::SlurmFailure;
use super::fetch;
use super::hosts::{self, SlurmHost};
use crate::connection::endpoint::ServiceAddressArgs;
use OptionValue::{Bare, Required};

/// The name of the command in its messages.
const TOOL: &str = "sinfo";
/// The default format.
const DEFAULT_FORMAT: &str = "%9P %.5a %.10l %.6D %.6t %N";
/// The format of `-s`.
const SUMMARY_FORMAT: &str = "%9P %.5a %.10l %.16F %N";
/// The format of `-N`.
const NODE_FORMAT: &str = "%N %.6D %.9P %6t";
/// The format of `-l`.
const LONG_FORMAT: &str = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";

/// The maximum width of a column.
const MAX_WIDTH: usize = 4096;

const RULES: &[OptionRule] = &[
    rule("all", Some('a'), Bare),
    rule("clusters", Some('M'), Required),
    rule("dead", Some('d'), Bare),
    rule("exact", Some('e'), Bare),
    rule("federation", None, Bare),
    rule("format", Some('o'), Required),
    rule("Format", Some('O'), Required),
    rule("help", None, Bare),
    rule("hide", None, Bare),
    rule("iterate", Some('i'), Required),
    rule("list-reasons", Some('R'), Bare),
    rule("local", None, Bare),
    rule("long", Some('l'), Bare),
    rule("noconvert", None, Bare),
    rule("Node", Some('N'), Bare),
    rule("nodes", Some('n'), Required),
    rule("noheader", Some('h'), Bare),
    rule("partition", Some('p'), Required),
    rule("reservation", Some('T'), Bare),
    rule("responding", Some('r'), Bare),
    rule("sort", Some('S'), Required),
    rule("states", Some('t'), Required),
    rule("summarize", Some('s'), Bare),
    rule("usage", None, Bare),
    rule("verbose", Some('v'), Bare),
    rule("version", Some('V'), Bare),
];

/// The fields, by their letter and by their name in `-O`, with their headers.
const FIELDS: &[(char, &[&str], &str)] = &[
    ('a', &["available"], "AVAIL"),
    ('b', &["features_act"], "ACTIVE_FEATURES"),
    ('c', &["cpus"], "CPUS"),
    ('C', &["cpusstate"], "CPUS(A/I/O/T)"),
    ('d', &["disk"], "TMP_DISK"),
    ('D', &["nodes"], "NODES"),
    ('e', &["freemem"], "FREE_MEM"),
    ('E', &["reason"], "REASON"),
    ('f', &["features"], "AVAIL_FEATURES"),
    ('F', &["nodeaiot"], "NODES(A/I/O/T)"),
    ('g', &["groups"], "GROUPS"),
    ('G', &["gres"], "GRES"),
    ('h', &["oversubscribe"], "OVERSUBSCRIBE"),
    ('l', &["time"], "TIMELIMIT"),
    ('L', &["defaulttime"], "DEFAULTTIME"),
    ('m', &["memory"], "MEMORY"),
    ('M', &["preemptmode"], "PREEMPT_MODE"),
    ('n', &["nodehost", "nodeaddr"], "HOSTNAMES"),
    ('N', &["nodelist"], "NODELIST"),
    ('o', &[], "NODE_ADDR"),
    ('O', &["cpusload"], "CPU_LOAD"),
    ('p', &["priorityjobfactor", "prioritytier"], "PRIO_TIER"),
    ('P', &["partition", "partitionname"], "PARTITION"),
    ('r', &["root"], "ROOT"),
    ('R', &[], "PARTITION"),
    ('s', &["size"], "JOB_SIZE"),
    ('S', &["allocnodes"], "ALLOCNODES"),
    ('t', &["statecompact"], "STATE"),
    ('T', &["statelong", "state"], "STATE"),
    ('u', &["user"], "USER"),
    ('v', &["version"], "VERSION"),
    ('w', &["weight"], "WEIGHT"),
    ('X', &["sockets"], "SOCKETS"),
    ('Y', &["cores"], "CORES"),
    ('Z', &["threads"], "THREADS"),
    ('z', &["socketcorethread"], "S:C:T"),
    ('q', &["gresused"], "GRES_USED"),
];

/// A column.
struct SinfoColumn {
    letter: char,
    header: &'static str,
    width: Option<usize>,
    is_right: bool,
    suffix: String,
}

/// The columns, and what stands before the first.
struct SinfoFormat {
    prefix: String,
    columns: Vec<SinfoColumn>,
}

/// A line: some hosts of a partition.
struct SinfoLine<'a> {
    partition: String,
    hosts: Vec<&'a SlurmHost>,
}

/// Lists partitions and hosts.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let parsed = super::parse(TOOL, RULES, words)?;
    if let Some(word) = parsed.operands.first() {
        return Err(SlurmError::of(TOOL, format!("Unrecognized option: {word}")).into());
    }
    let has = |name: &str| parsed.options.iter().any(|typed| typed.name == name);
    let value = |name: &str| parsed.options.iter().rfind(|typed| typed.name == name);
    if has("version") {
        return super::print_version();
    }
    let mut out = io::stdout().lock();
    if has("help") || has("usage") {
        let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Sinfo);
        return Ok(writeln!(out, "Usage: sinfo [OPTIONS]\n\n{help}")?);
    }
    if let Some(clusters) = value("clusters") {
        check_clusters(TOOL, clusters.text())?;
    }
    let by_node = has("Node");
    let letters = match (has("summarize"), by_node, has("long")) {
        (true, _, _) => SUMMARY_FORMAT,
        (false, true, _) => NODE_FORMAT,
        (false, false, true) => LONG_FORMAT,
        (false, false, false) => DEFAULT_FORMAT,
    };
    let format = match (value("Format"), value("format")) {
        (Some(names), _) => SinfoFormat::of_names(names.text())?,
        (None, Some(letters)) => SinfoFormat::of_letters(letters.text())?,
        (None, None) => SinfoFormat::of_letters(letters)?,
    };
    let mut client = address.connect()?;
    let hosts = hosts::all(&mut client)?;
    let list = |name: &str| value(name).map(|typed: &TypedOption| fetch::words(typed.text()));
    let requested = list("partition");
    let states = list("states").map(|states| {
        states
            .iter()
            .map(|word| word.to_lowercase())
            .collect::<Vec<_>>()
    });
    let named =
        value("nodes").and_then(|typed| tollgate_frontends::slurm::hosts::expand(typed.text()));
    let hosts = hosts.iter().filter(|host| {
        let (long, short) = host.state();
        let of_state = states.as_ref().is_none_or(|states| {
            states
                .iter()
                .any(|state| state == long || state == short || state == "all")
        });
        of_state
            && named
                .as_ref()
                .is_none_or(|named| named.contains(&host.name))
    });
    let hosts: Vec<&SlurmHost> = hosts.collect();
    let mut partitions = vec![DEFAULT_PARTITION.to_owned()];
    partitions.extend(labels(&mut client)?);
    let partitions = partitions.into_iter().filter(|partition| {
        requested
            .as_ref()
            .is_none_or(|requested| requested.contains(partition))
    });
    if !has("noheader") {
        if has("clusters") {
            writeln!(out, "CLUSTER: {CLUSTER_NAME}")?;
        }
        writeln!(out, "{}", format.line(|column| column.header.to_owned()))?;
    }
    let shows_partitions = format
        .columns
        .iter()
        .any(|column| "PR".contains(column.letter));
    let shows_hosts = format
        .columns
        .iter()
        .any(|column| "tTnNoGqcmf".contains(column.letter));
    for partition in partitions.take(if shows_partitions { usize::MAX } else { 1 }) {
        for line in lines(partition, &hosts, by_node, shows_hosts && !has("summarize")) {
            writeln!(out, "{}", format.line(|column| line.value(column.letter)))?;
        }
    }
    Ok(())
}

/// Returns the labels of partitions that unfinished jobs use.
fn labels(client: &mut tollgate_client::ApiClient) -> Result<BTreeSet<String>, SlurmFailure> {
    let live: JobList = client.get(&format!("/v1/jobs?live=true&limit={MAX_JOBS}"))?;
    let queues = live.jobs.iter().filter_map(|job| job.queue.as_deref());
    let names = queues.flat_map(|queue| queue.split(','));
    let names = names.filter(|name| *name != DEFAULT_PARTITION && !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// Returns the lines of a partition: one for each host, or one for all hosts of the same state and size.
fn lines<'a>(
    partition: String,
    hosts: &[&'a SlurmHost],
    by_node: bool,
    by_state: bool,
) -> Vec<SinfoLine<'a>> {
    let mut groups: Vec<Vec<&SlurmHost>> = Vec::new();
    for host in hosts {
        let key = |host: &SlurmHost| (host.state(), host.cores, host.memory_mib, host.gres());
        let found = groups.iter_mut().find(|group| {
            !by_node && (!by_state || group.first().is_some_and(|first| key(first) == key(host)))
        });
        match found {
            Some(group) => group.push(host),
            None => groups.push(vec![host]),
        }
    }
    if groups.is_empty() {
        groups.push(Vec::new());
    }
    let line = |hosts| SinfoLine {
        partition: partition.clone(),
        hosts,
    };
    groups.into_iter().map(line).collect()
}

impl SinfoLine<'_> {
    fn value(&self, letter: char) -> String {
        let sum = |of: fn(&SlurmHost) -> u32| self.hosts.iter().map(|host| of(host)).sum::<u32>();
        let first = self.hosts.first();
        let count_of =
            |is: fn(&SlurmHost) -> bool| self.hosts.iter().filter(|host| is(host)).count();
        match letter {
            'P' if self.partition == DEFAULT_PARTITION => format!("{}*", self.partition),
            'P' | 'R' => self.partition.clone(),
            'a' => "up".to_owned(),
            'l' => "infinite".to_owned(),
            'L' => "n/a".to_owned(),
            'D' => self.hosts.len().to_string(),
            't' => first.map_or("n/a", |host| host.state().1).to_owned(),
            'T' => first.map_or("n/a", |host| host.state().0).to_owned(),
            'N' | 'n' | 'o' => compress(self.hosts.iter().map(|host| host.name.as_str())),
            'c' => first.map_or(0, |host| host.cores).to_string(),
            'm' => first.map_or(0, |host| host.memory_mib).to_string(),
            'C' => {
                let (busy, idle) = (sum(|host| host.busy), sum(SlurmHost::idle));
                format!(
                    "{busy}/{idle}/{}/{}",
                    sum(SlurmHost::other),
                    sum(|host| host.cores)
                )
            }
            'F' => {
                let busy = count_of(|host| host.busy > 0);
                let other = count_of(|host| host.busy == 0 && host.state().1 != "idle");
                let all = self.hosts.len();
                format!("{busy}/{}/{other}/{all}", all - busy - other)
            }
            'G' => first.map_or_else(|| "(null)".to_owned(), |host| host.gres()),
            's' => "1-infinite".to_owned(),
            'r' | 'M' => "no".to_owned(),
            'g' | 'S' => "all".to_owned(),
            'h' => "NO".to_owned(),
            'p' | 'w' | 'd' | 'e' => "0".to_owned(),
            'v' => super::SLURM_VERSION.to_owned(),
            'E' => "none".to_owned(),
            'u' => "Unknown".to_owned(),
            'z' => format!("{}:1:1", first.map_or(0, |host| host.cores)),
            'X' => first.map_or(0, |host| host.cores).to_string(),
            'Y' | 'Z' => "1".to_owned(),
            'q' => first.map_or_else(|| "(null)".to_owned(), |host| host.gres_used()),
            _ => "(null)".to_owned(),
        }
    }
}

impl SinfoFormat {
    fn of_letters(format: &str) -> Result<Self, SlurmError> {
        let mut parsed = Self {
            prefix: String::new(),
            columns: Vec::new(),
        };
        let mut rest = format;
        while let Some((before, behind)) = rest.split_once('%') {
            parsed.add_text(before);
            let is_right = behind.starts_with('.');
            let behind = behind.strip_prefix('.').unwrap_or(behind);
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let (width, behind) = behind.split_at(digits);
            let Some(letter) = behind.chars().next() else {
                rest = "";
                break;
            };
            let found = FIELDS.iter().find(|(known, _, _)| *known == letter);
            let wrong =
                || SlurmError::of(TOOL, format!("Invalid node format specification: {letter}"));
            let (_, _, header) = found.ok_or_else(wrong)?;
            parsed.columns.push(SinfoColumn {
                letter,
                header,
                width: width
                    .parse()
                    .ok()
                    .filter(|width| (1..=MAX_WIDTH).contains(width)),
                is_right,
                suffix: String::new(),
            });
            rest = &behind[letter.len_utf8()..];
        }
        parsed.add_text(rest);
        Ok(parsed)
    }

    fn of_names(format: &str) -> Result<Self, SlurmError> {
        let parts = format.split(',').filter(|part| !part.trim().is_empty());
        let columns = parts.map(|part| {
            let (name, layout) = part.trim().split_once(':').unwrap_or((part.trim(), "20"));
            let lower = name.to_lowercase();
            let found = FIELDS
                .iter()
                .find(|(_, names, _)| names.contains(&lower.as_str()));
            let wrong =
                || SlurmError::of(TOOL, format!("Invalid node format specification: {name}"));
            let (letter, _, header) = found.ok_or_else(wrong)?;
            let is_right = layout.starts_with('.');
            let layout = layout.strip_prefix('.').unwrap_or(layout);
            let digits = layout.bytes().take_while(u8::is_ascii_digit).count();
            let (width, suffix) = layout.split_at(digits);
            Ok(SinfoColumn {
                letter: *letter,
                header,
                width: width
                    .parse()
                    .ok()
                    .filter(|width| (1..=MAX_WIDTH).contains(width)),
                is_right,
                suffix: suffix.to_owned(),
            })
        });
        Ok(Self {
            prefix: String::new(),
            columns: columns.collect::<Result<_, SlurmError>>()?,
        })
    }

    fn add_text(&mut self, text: &str) {
        match self.columns.last_mut() {
            Some(last) => last.suffix.push_str(text),
            None => self.prefix.push_str(text),
        }
    }

    fn line(&self, value: impl Fn(&SinfoColumn) -> String) -> String {
        let mut line = self.prefix.clone();
        for column in &self.columns {
            let text = value(column);
            line.push_str(&match (column.width, column.is_right) {
                (None, _) => text,
                (Some(width), right) => {
                    let cut: String = text.chars().take(width).collect();
                    match right {
                        true => format!("{cut:>width$}"),
                        false => format!("{cut:<width$}"),
                    }
                }
            });
            line.push_str(&column.suffix);
        }
        line.trim_end_matches('\0').to_owned()
    }
}
