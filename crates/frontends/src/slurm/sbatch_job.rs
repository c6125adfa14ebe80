//! The job that the options of `sbatch` describe.

use std::collections::BTreeMap;

use super::dependency;
use super::error::SlurmError;
use super::getopt::TypedOption;
use super::numbers::{self, SlurmArray};
use super::sbatch_options::{self, OptionEffect};
use super::time::{self, SlurmLimit};
use super::{hosts, mail};

/// The requested job, and what `sbatch` does besides.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SbatchOptions {
    pub(crate) name: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) partition: Option<String>,
    pub(crate) qos: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) dir: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) input: Option<String>,
    pub(crate) append: bool,
    pub(crate) ntasks: Option<u32>,
    pub(crate) ntasks_per_node: Option<u32>,
    pub(crate) ntasks_per_gpu: Option<u32>,
    pub(crate) cpus_per_task: Option<u32>,
    pub(crate) cpus_per_gpu: Option<u32>,
    pub(crate) nodes: Option<u32>,
    pub(crate) host: Option<String>,
    pub(crate) memory: Option<RequestedMemory>,
    pub(crate) gpus: Option<RequestedGpus>,
    pub(crate) gres: Option<BTreeMap<String, u8>>,
    pub(crate) licenses: Option<BTreeMap<String, u8>>,
    pub(crate) time_limit: Option<SlurmLimit>,
    pub(crate) signal: Option<(&'static str, f64)>,
    pub(crate) deadline: Option<String>,
    pub(crate) begin: Option<String>,
    pub(crate) budget: Option<f64>,
    pub(crate) penalty: Option<f64>,
    pub(crate) confidence: Option<f64>,
    pub(crate) array: Option<SlurmArray>,
    pub(crate) after: Vec<String>,
    /// Whether the job starts after the user's jobs of the same name.
    pub(crate) is_singleton: bool,
    /// The events that the user wants a notice of, in the words of a request.
    pub(crate) notify: Vec<String>,
    /// The dependencies as they were typed.
    pub(crate) dependency: Option<String>,
    pub(crate) export: Option<String>,
    pub(crate) held: bool,
    pub(crate) requeue: bool,
    pub(crate) wrap: Option<String>,
    pub(crate) parsable: bool,
    pub(crate) quiet: bool,
    pub(crate) wait: bool,
    pub(crate) test_only: bool,
    pub(crate) help: bool,
    pub(crate) version: bool,
    /// The options that change nothing here, as they are typed, each once.
    pub(crate) unused: Vec<String>,
}

/// Memory in bytes, of each of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedMemory {
    Host(u64),
    Processor(u64),
    Gpu(u64),
}

/// A number of GPUs, of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedGpus {
    Total(BTreeMap<String, u8>),
    PerHost(BTreeMap<String, u8>),
    PerTask(BTreeMap<String, u8>),
}

impl SbatchOptions {
    /// Adds options. A later option overrides an earlier one.
    ///
    /// # Errors
    /// The first option with an invalid value, or that cannot be honoured. `tool` names the command.
    pub(crate) fn add(&mut self, tool: &str, options: &[TypedOption]) -> Result<(), SlurmError> {
        options.iter().try_for_each(|typed| {
            let option = format!("--{}", typed.name);
            match sbatch_options::effect(typed.name) {
                OptionEffect::Used => self.add_used(tool, typed),
                OptionEffect::Noted => {
                    if typed.name == "qos" {
                        self.qos = typed.value.clone();
                    }
                    self.note(option);
                    Ok(())
                }
                OptionEffect::Silent => Ok(()),
                OptionEffect::Refused(reason) => Err(SlurmError::refused(tool, &option, reason)),
            }
        })
    }

    /// Remembers an option that changes nothing.
    pub(crate) fn note(&mut self, option: String) {
        if !self.unused.contains(&option) {
            self.unused.push(option);
        }
    }

    fn add_used(&mut self, tool: &str, typed: &TypedOption) -> Result<(), SlurmError> {
        let text = typed.text();
        let given = || typed.value.clone();
        match typed.name {
            "job-name" => self.name = given(),
            "account" => self.account = given(),
            "partition" => self.partition = given(),
            "comment" => self.comment = given(),
            "chdir" | "workdir" => self.dir = given(),
            "output" => self.output = given(),
            "error" => self.error = given(),
            "input" => self.input = given(),
            "open-mode" => {
                self.append = match text {
                    "a" | "append" => true,
                    "t" | "truncate" => false,
                    _ => return Err(invalid(tool, "open-mode", text)),
                }
            }
            "export" => self.export = given(),
            "deadline" => self.deadline = given(),
            "begin" => self.begin = given(),
            "wrap" => self.wrap = given(),
            "hold" => self.held = true,
            "requeue" => self.requeue = true,
            "no-requeue" => self.requeue = false,
            "parsable" => self.parsable = true,
            "quiet" => self.quiet = true,
            "wait" => self.wait = true,
            "test-only" => self.test_only = true,
            "help" | "usage" => self.help = true,
            "version" => self.version = true,
            "clusters" => check_clusters(tool, text)?,
            "signal" => {
                let signal = numbers::parse_signal(text);
                let signal = signal.filter(|(name, _)| !matches!(*name, "KILL" | "CONT"));
                self.signal = Some(signal.ok_or_else(|| invalid(tool, "signal", text))?);
            }
            "dependency" => {
                let found = dependency::parse(tool, text)?;
                (self.after, self.is_singleton) = (found.after, found.is_singleton);
                self.dependency = given();
            }
            "mail-type" => self.notify = mail::notices(tool, text)?,
            "array" => {
                let array = numbers::parse_array(text);
                let wrong = || SlurmError::submission(tool, "Invalid job array specification");
                self.array = Some(array.ok_or_else(wrong)?);
            }
            "time" => {
                let limit = time::parse_limit(text);
                let wrong = || SlurmError::usage(tool, "Invalid --time specification");
                self.time_limit = Some(limit.ok_or_else(wrong)?);
            }
            "budget" | "penalty" | "confidence" => self.add_price(tool, typed)?,
            _ => self.add_resource(tool, typed)?,
        }
        Ok(())
    }

    fn add_price(&mut self, tool: &str, typed: &TypedOption) -> Result<(), SlurmError> {
        let text = typed.text();
        let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
        match typed.name {
            "budget" => self.budget = number,
            "confidence" => self.confidence = number.filter(|number| *number <= 1.0),
            _ => self.penalty = tollgate_client::typed_amount::parse_rate(text).ok(),
        }
        let is_set = match typed.name {
            "budget" => self.budget.is_some(),
            "confidence" => self.confidence.is_some(),
            _ => self.penalty.is_some(),
        };
        match is_set {
            true => Ok(()),
            false => Err(invalid(tool, typed.name, text)),
        }
    }

    fn add_resource(&mut self, tool: &str, typed: &TypedOption) -> Result<(), SlurmError> {
        let (name, text) = (typed.name, typed.text());
        let count = || {
            let number = text.parse::<u32>().ok().filter(|number| *number > 0);
            number.map(Some).ok_or_else(|| invalid(tool, name, text))
        };
        let memory = || numbers::parse_memory(text).ok_or_else(|| invalid(tool, name, text));
        let gres = || {
            let message = "Invalid generic resource (gres) specification";
            numbers::parse_devices(text).ok_or_else(|| SlurmError::of(tool, message))
        };
        match name {
            "ntasks" => self.ntasks = count()?,
            "cpus-per-task" => self.cpus_per_task = count()?,
            "cpus-per-gpu" => self.cpus_per_gpu = count()?,
            "ntasks-per-node" | "tasks-per-node" => self.ntasks_per_node = count()?,
            "ntasks-per-gpu" => self.ntasks_per_gpu = count()?,
            "nodes" => self.nodes = Some(parse_nodes(tool, text)?),
            "mem" => {
                let bytes = memory()?;
                if bytes == 0 {
                    let reason = "there is no request for all memory of a host here; name an amount, as in --mem=4G";
                    return Err(SlurmError::refused(tool, "--mem=0", reason));
                }
                self.memory = Some(RequestedMemory::Host(bytes));
            }
            "mem-per-cpu" => self.memory = some_memory(memory()?, RequestedMemory::Processor),
            "mem-per-gpu" => self.memory = some_memory(memory()?, RequestedMemory::Gpu),
            "gpus" => self.gpus = Some(RequestedGpus::Total(gpus(tool, text)?)),
            "gpus-per-node" => self.gpus = Some(RequestedGpus::PerHost(gpus(tool, text)?)),
            "gpus-per-task" => self.gpus = Some(RequestedGpus::PerTask(gpus(tool, text)?)),
            "gres" => self.gres = Some(gres()?),
            "licenses" => {
                let wrong = || SlurmError::submission(tool, "Invalid license specification");
                self.licenses = Some(numbers::parse_devices(text).ok_or_else(wrong)?);
            }
            _ => self.host = Some(one_host(tool, text)?),
        }
        Ok(())
    }
}

fn some_memory(bytes: u64, of: fn(u64) -> RequestedMemory) -> Option<RequestedMemory> {
    (bytes > 0).then(|| of(bytes))
}

/// Parses GPUs: `2`, `a100:2` or `a100:1,v100:1`.
fn gpus(tool: &str, text: &str) -> Result<BTreeMap<String, u8>, SlurmError> {
    let named: Vec<String> = text.split(',').map(|part| format!("gpu:{part}")).collect();
    let message = "Invalid generic resource (gres) specification";
    numbers::parse_devices(&named.join(",")).ok_or_else(|| SlurmError::of(tool, message))
}

/// Parses a number of hosts: `2` or `2-4`, of which the least counts.
fn parse_nodes(tool: &str, text: &str) -> Result<u32, SlurmError> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    let least = number(least).filter(|least| number(most).is_some_and(|most| most >= *least));
    least.ok_or_else(|| invalid(tool, "nodes", text))
}

/// Checks that a list of hosts names one.
fn one_host(tool: &str, text: &str) -> Result<String, SlurmError> {
    match hosts::expand(text).as_deref() {
        Some([host]) => Ok(host.clone()),
        Some([_, _, ..]) => {
            let reason = "a job names one host or none here; name one, or remove the option";
            Err(SlurmError::refused(tool, "--nodelist", reason))
        }
        Some([]) | None => Err(SlurmError::submission(tool, "Invalid node name specified")),
    }
}

/// The name of the service in lists of clusters.
pub const CLUSTER_NAME: &str = "tollgate";

/// Checks that clusters are the own one, or all.
///
/// # Errors
/// If another cluster is named.
pub fn check_clusters(tool: &str, list: &str) -> Result<(), SlurmError> {
    let mut names = list.split(',').filter(|name| !name.is_empty());
    match names.find(|name| *name != CLUSTER_NAME && *name != "all") {
        None => Ok(()),
        Some(name) => {
            let message = format!("No cluster '{name}' known by database.");
            Err(SlurmError::of(tool, message))
        }
    }
}

fn invalid(tool: &str, name: &str, text: &str) -> SlurmError {
    match name {
        "mem" | "mem-per-cpu" | "mem-per-gpu" => {
            SlurmError::usage(tool, format!("Invalid --{name} specification"))
        }
        "nodes" => SlurmError::usage(tool, format!("\"{text}\" is not a valid node count")),
        "ntasks" | "cpus-per-task" | "ntasks-per-node" | "tasks-per-node" => {
            let letter = match name {
                "ntasks" => "-n",
                "cpus-per-task" => "-c",
                _ => "--ntasks-per-node",
            };
            SlurmError::usage(
                tool,
                format!("Invalid numeric value \"{text}\" for {letter}."),
            )
        }
        _ => SlurmError::usage(tool, format!("Invalid --{name} specification: {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::getopt::{OptionsEnd, parse};
    use super::*;

    fn options(words: &str) -> Result<SbatchOptions, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let rules = sbatch_options::rules();
        let parsed = parse("sbatch", &rules, &words, OptionsEnd::FirstOperand, 255);
        let parsed = parsed.map_err(|error| error.text)?;
        let mut options = SbatchOptions::default();
        options
            .add("sbatch", &parsed.options)
            .map_err(|error| error.text)?;
        Ok(options)
    }

    #[test]
    fn tasks_processors_and_memory_are_counted() {
        for (words, procs, memory, one_host) in [
            ("", 1, None, false),
            ("-n 4", 4, None, false),
            ("-c 4", 4, None, true),
            ("-N 1 -n 4 --mem=2G", 4, Some(2 << 30), true),
            ("-N 2 --ntasks-per-node=3 --mem=1G", 6, Some(2 << 30), false),
            ("-N 2-4 -n 8", 8, None, false),
            ("-n 2 -c 3 --mem-per-cpu=100", 6, Some(600 << 20), false),
            ("--mem=100K", 1, Some(1 << 20), false),
            ("-G 2 --cpus-per-gpu=3", 6, None, true),
            ("-N 2 -c 2", 4, None, false),
        ] {
            let options = options(words).unwrap();
            let tasks = options.n_tasks("sbatch").unwrap();
            assert_eq!(options.procs(tasks), procs, "{words}");
            assert_eq!(options.memory_bytes(tasks), memory, "{words}");
            assert_eq!(options.is_on_one_host(tasks), one_host, "{words}");
        }
        let several = options("-N 2").unwrap();
        let error = several.n_tasks("sbatch").unwrap_err();
        assert!(
            error
                .text
                .starts_with("sbatch: error: --nodes: hosts are not counted")
        );
    }

    #[test]
    fn gpus_of_every_form_are_devices() {
        for (words, devices) in [
            ("--gres=gpu:2", "{\"gpu\": 2}"),
            ("-G 2", "{\"gpu\": 2}"),
            ("--gpus-per-node=a100:1 -N 2 -n 2", "{\"gpu:a100\": 2}"),
            ("--gpus-per-task=1 -n 3", "{\"gpu\": 3}"),
            ("--gres=gpu:0 -L matlab", "{\"matlab\": 1}"),
        ] {
            let options = options(words).unwrap();
            let tasks = options.n_tasks("sbatch").unwrap();
            assert_eq!(format!("{:?}", options.devices(tasks)), devices, "{words}");
        }
    }

    #[test]
    fn options_without_effect_are_noted_once() {
        let options = options("--exclusive --mail-user=me --exclusive=user -v").unwrap();
        assert_eq!(options.unused, ["--exclusive", "--mail-user"]);
    }

    #[test]
    fn wrong_values_are_named_as_slurm_does() {
        for (words, expected) in [
            ("--time=soon", "sbatch: error: Invalid --time specification"),
            ("--mem=lots", "sbatch: error: Invalid --mem specification"),
            (
                "-a 3-1",
                "sbatch: error: Batch job submission failed: Invalid job array specification",
            ),
            (
                "-M other",
                "sbatch: error: No cluster 'other' known by database.",
            ),
            (
                "-w n[1-2]",
                "sbatch: error: --nodelist: a job names one host or none here; name one, or remove the option",
            ),
            (
                "--gres=gpu:x:y:999",
                "sbatch: error: Invalid generic resource (gres) specification",
            ),
            (
                "--reservation=x",
                "sbatch: error: --reservation: there are no reservations here; remove the line, or give a deadline",
            ),
        ] {
            assert_eq!(options(words).unwrap_err(), expected, "{words}");
        }
    }
}
