//! Parses resources requested with `-l`: `nodes=1:ppn=4,walltime=01:00:00`,
//! `select=2:ncpus=4:mem=2gb`, `h_rt=3600`, `nodes=node07:ppn=4`, `h=node07`.

use std::collections::BTreeMap;

use tollgate_client::typed_amount::parse_rate;
use tollgate_client::typed_span::parse_span;

use crate::chunks::{ChunkTotals, memory};
use crate::error::FrontendError;
use crate::options::ParsedOption;

/// The resources requested so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourceOptions {
    /// The total number of processors.
    pub(crate) procs: Option<u32>,
    /// The total memory in bytes.
    pub(crate) memory: Option<u64>,
    /// The memory per processor in bytes.
    pub(crate) memory_per_proc: Option<u64>,
    /// The total number of GPUs.
    pub(crate) gpus: Option<u8>,
    /// Whether a `select` set processors, memory and devices.
    has_selection: bool,
    /// The name of the host on which the job is to run.
    pub(crate) host: Option<String>,
    /// The time limit in seconds.
    pub(crate) time_limit: Option<f64>,
    /// The run time in seconds after which Grid Engine would warn the job.
    soft_limit: Option<f64>,
    /// Deadline, as it is typed.
    pub(crate) deadline: Option<String>,
    /// Budget, in credits.
    pub(crate) budget: Option<f64>,
    /// Penalty, in credits a second.
    pub(crate) penalty: Option<f64>,
    /// Wanted probability of the promise, 0 to 1.
    pub(crate) confidence: Option<f64>,
    /// Known resources without effect here.
    pub(crate) ignored: Vec<String>,
}

impl ResourceOptions {
    /// Adds a list of resources.
    ///
    /// # Errors
    /// The first resource that is invalid or not available here.
    pub(crate) fn add(&mut self, given: &ParsedOption) -> Result<(), FrontendError> {
        // A later list can name another host: the command line comes after the script.
        let earlier = self.host.take();
        let items = given.value.split(',').map(str::trim);
        items
            .filter(|item| !item.is_empty())
            .try_for_each(|item| self.add_one(given, item))?;
        self.host = self.host.take().or(earlier);
        Ok(())
    }

    /// Returns these resources, and those of `script` where nothing here takes their place: the command
    /// line overrides each resource of the script, whether that is more or less.
    pub(crate) fn over(self, script: Self) -> Self {
        // A selection sets processors, memory and devices together.
        let script = match self.has_selection {
            true => Self {
                procs: None,
                memory: None,
                memory_per_proc: None,
                gpus: None,
                host: None,
                ..script
            },
            false => script,
        };
        // Memory in all and memory a processor are two ways to ask for the same.
        let (memory, memory_per_proc) = match (self.memory, self.memory_per_proc) {
            (None, None) => (script.memory, script.memory_per_proc),
            own => own,
        };
        Self {
            procs: self.procs.or(script.procs),
            memory,
            memory_per_proc,
            gpus: self.gpus.or(script.gpus),
            has_selection: self.has_selection || script.has_selection,
            host: self.host.or(script.host),
            time_limit: self.time_limit.or(script.time_limit),
            soft_limit: self.soft_limit.or(script.soft_limit),
            deadline: self.deadline.or(script.deadline),
            budget: self.budget.or(script.budget),
            penalty: self.penalty.or(script.penalty),
            confidence: self.confidence.or(script.confidence),
            ignored: script.ignored.into_iter().chain(self.ignored).collect(),
        }
    }

    /// Returns the total memory in bytes for `procs` processors.
    pub(crate) fn memory_for(&self, procs: u32) -> Option<u64> {
        let each = self
            .memory_per_proc
            .map(|each| each.saturating_mul(u64::from(procs)));
        self.memory.max(each)
    }

    /// Returns the devices to take.
    pub(crate) fn devices(&self) -> Option<BTreeMap<String, u8>> {
        self.gpus
            .map(|gpus| BTreeMap::from([("gpu".to_owned(), gpus)]))
    }

    /// Returns the run time estimate in seconds, if it differs from the time limit.
    pub(crate) fn estimate(&self) -> Option<f64> {
        let limit = self.time_limit.unwrap_or(f64::INFINITY);
        self.soft_limit.filter(|&soft| soft < limit)
    }

    fn add_one(&mut self, given: &ParsedOption, item: &str) -> Result<(), FrontendError> {
        let (name, value) = item.split_once('=').unwrap_or((item, ""));
        let wrong = |message: String| given.invalid_value(format!("{name}: {message}"));
        let amount = || value.parse::<f64>().ok().filter(|value| value.is_finite());
        let expected = |what: &str| wrong(format!("expected {what}, got `{value}`"));
        match name {
            "walltime" | "h_rt" => {
                self.time_limit = Some(span(value).map_err(wrong)?);
            }
            "s_rt" => self.soft_limit = Some(span(value).map_err(wrong)?),
            "mem" | "vmem" | "mem_free" | "h_rss" | "virtual_free" | "vf" => {
                let bytes = memory(value).map_err(wrong)?;
                self.memory = self.memory.max(Some(bytes));
            }
            "pmem" | "pvmem" | "h_vmem" | "s_vmem" => {
                let bytes = memory(value).map_err(wrong)?;
                self.memory_per_proc = self.memory_per_proc.max(Some(bytes));
            }
            "ncpus" | "procs" | "slots" => {
                let procs = value.parse().ok().filter(|&procs| procs > 0);
                self.procs = Some(procs.ok_or_else(|| expected("a number of processors"))?);
            }
            "gpu" | "gpus" | "ngpus" => {
                let gpus = value.parse().ok().filter(|&gpus| gpus > 0);
                self.gpus = Some(gpus.ok_or_else(|| expected("a number of GPUs"))?);
            }
            "host" | "hostname" | "h" => self.add_host(given, name, value)?,
            "nodes" | "select" => self.add_chunks(given, name, value)?,
            "deadline" => self.deadline = Some(value.to_owned()),
            "budget" => self.budget = Some(amount().ok_or_else(|| expected("credits"))?),
            "penalty" => self.penalty = Some(parse_rate(value).map_err(wrong)?),
            "confidence" => self.confidence = Some(amount().ok_or_else(|| expected("a number"))?),
            "place" | "cput" | "pcput" | "h_cpu" | "s_cpu" | "nice" => {
                self.ignored.push(format!("-l {item}"));
            }
            _ => {
                return Err(given.invalid_value(format!("unknown resource `{name}`")));
            }
        }
        Ok(())
    }

    /// Sets the host. A job runs on one host or on any; it cannot name several, or a pattern.
    fn add_host(
        &mut self,
        given: &ParsedOption,
        name: &str,
        host: &str,
    ) -> Result<(), FrontendError> {
        let is_name = !host.is_empty() && !host.contains(['*', '?', '|', '!', '[', '&', '(']);
        let is_other = self.host.as_deref().is_some_and(|known| known != host);
        if is_other || !is_name {
            let message = format!("{name}: expected the name of one host, got `{host}`");
            return Err(given.invalid_value(message));
        }
        self.host = Some(host.to_owned());
        Ok(())
    }

    /// Adds chunks such as `2:ppn=4`, `2:ncpus=4:mem=2gb` or `node07:ppn=4`, joined by `+`.
    fn add_chunks(
        &mut self,
        given: &ParsedOption,
        name: &str,
        value: &str,
    ) -> Result<(), FrontendError> {
        let totals = ChunkTotals::parse(given, name, value, &mut |host| {
            self.add_host(given, name, host)
        })?;
        self.procs = Some(totals.procs);
        self.has_selection |= name == "select";
        self.memory = self.memory.max(totals.memory);
        self.gpus = totals.gpus.or(self.gpus);
        Ok(())
    }
}

/// Parses a time, which Torque also writes with days as `days:hours:minutes:seconds`.
fn span(text: &str) -> Result<f64, String> {
    match text.split_once(':') {
        Some((days, clock)) if clock.matches(':').count() == 2 => {
            parse_span(&format!("{days}-{clock}"))
        }
        _ => parse_span(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lists: &[&str]) -> Result<ResourceOptions, String> {
        let mut resources = ResourceOptions::default();
        for list in lists {
            let given = ParsedOption {
                source: "qsub".to_owned(),
                name: "l".to_owned(),
                value: (*list).to_owned(),
            };
            resources.add(&given).map_err(|error| error.to_string())?;
        }
        Ok(resources)
    }

    #[test]
    fn processors_memory_and_time_are_parsed_in_every_dialect() {
        for (lists, procs, memory, time_limit) in [
            (
                &["nodes=1:ppn=4", "walltime=01:30:00", "mem=2gb"][..],
                Some(4),
                Some(2 << 30),
                Some(5400.0),
            ),
            (
                &["select=2:ncpus=3:mem=512mb:mpiprocs=3"],
                Some(6),
                Some(1 << 30),
                None,
            ),
            (&["nodes=1:ppn=2+2:ppn=1"], Some(4), None, None),
            (
                &["h_rt=3600,h_vmem=1G", "slots=2"],
                Some(2),
                Some(2 << 30),
                Some(3600.0),
            ),
            (&["h_rss=100M,mem_free=200M"], None, Some(200 << 20), None),
            (&["mem=1kw"], None, Some(8192), None),
        ] {
            let parsed = parsed(lists).unwrap();
            let memory_all = parsed.memory_for(parsed.procs.unwrap_or(1));
            assert_eq!(
                (parsed.procs, memory_all, parsed.time_limit),
                (procs, memory, time_limit),
                "{lists:?}"
            );
        }
    }

    #[test]
    fn command_line_overrides_each_resource_of_the_script() {
        for (script, command_line, procs, memory, gpus) in [
            ("mem=900mb,ncpus=4", "mem=200mb", 4, Some(200 << 20), None),
            ("pmem=900mb,ncpus=4", "mem=200mb", 4, Some(200 << 20), None),
            ("mem=900mb,ncpus=4", "h_vmem=100M", 4, Some(400 << 20), None),
            ("mem=900mb,ncpus=4", "ncpus=2", 2, Some(900 << 20), None),
            (
                "select=2:ncpus=4:mem=1gb:ngpus=1",
                "select=1:ncpus=2:mem=1gb",
                2,
                Some(1 << 30),
                None,
            ),
            ("select=2:ncpus=4:mem=1gb", "select=ncpus=1", 1, None, None),
            ("nodes=1:ppn=4:gpus=2", "walltime=60", 4, None, Some(2)),
        ] {
            let whole = parsed(&[command_line])
                .unwrap()
                .over(parsed(&[script]).unwrap());
            let requested = (whole.procs.unwrap_or(1), whole.gpus);
            assert_eq!(requested, (procs, gpus), "{script} {command_line}");
            assert_eq!(whole.memory_for(procs), memory, "{script} {command_line}");
        }
    }

    #[test]
    fn days_are_a_part_of_times() {
        for (list, seconds) in [
            ("walltime=1:00:00:00", 86_400.0),
            ("h_rt=2:0:0:5", 172_805.0),
        ] {
            assert_eq!(parsed(&[list]).unwrap().time_limit, Some(seconds));
        }
        assert!(parsed(&["walltime=1:1:00:00:00"]).is_err());
    }

    #[test]
    fn a_host_is_named_in_every_dialect() {
        for (list, procs) in [
            ("nodes=node07:ppn=4", Some(4)),
            ("nodes=node07", Some(1)),
            ("select=1:ncpus=2:host=node07", Some(2)),
            ("select=ncpus=2:host=node07", Some(2)),
            ("host=node07", None),
            ("h=node07,hostname=node07", None),
        ] {
            let parsed = parsed(&[list]).unwrap();
            assert_eq!(
                (parsed.host.as_deref(), parsed.procs),
                (Some("node07"), procs),
                "{list}"
            );
        }
        assert_eq!(parsed(&["nodes=2:ppn=4"]).unwrap().host, None);
        for (lists, host) in [
            (["nodes=node07:ppn=4", "h=node08"], "node08"),
            (["nodes=node07:ppn=4", "walltime=60"], "node07"),
        ] {
            assert_eq!(parsed(&lists).unwrap().host.as_deref(), Some(host));
        }
    }

    #[test]
    fn gpus_are_devices_to_take() {
        for (list, gpus) in [
            ("gpu=2", 2),
            ("nodes=1:ppn=4:gpus=1", 1),
            ("select=2:ncpus=4:ngpus=3", 6),
        ] {
            let devices = parsed(&[list]).unwrap().devices().unwrap();
            assert_eq!(
                devices,
                BTreeMap::from([("gpu".to_owned(), gpus)]),
                "{list}"
            );
        }
        assert_eq!(parsed(&["procs=2"]).unwrap().devices(), None);
    }

    #[test]
    fn unsupported_resource_is_named() {
        for (list, expected) in [
            ("fpga=1", "qsub: -l: unknown resource `fpga`"),
            (
                "gpu=many",
                "qsub: -l: gpu: expected a number of GPUs, got `many`",
            ),
            (
                "nodes=1:ppn=2:fpgas=1",
                "qsub: -l: nodes: unknown part `fpgas=1`",
            ),
            (
                "nodes=0:ppn=2",
                "qsub: -l: nodes: expected a number of nodes, got `0:ppn=2`",
            ),
            (
                "nodes=node07+node08",
                "qsub: -l: nodes: expected the name of one host, got `node08`",
            ),
            (
                "select=1:ncpus=2:host=node07+2:ncpus=4",
                "qsub: -l: select: expected one host for all chunks, or none",
            ),
            (
                "h=node0*",
                "qsub: -l: h: expected the name of one host, got `node0*`",
            ),
            (
                "procs=0",
                "qsub: -l: procs: expected a number of processors, got `0`",
            ),
            (
                "budget=lots",
                "qsub: -l: budget: expected credits, got `lots`",
            ),
        ] {
            assert_eq!(parsed(&[list]).unwrap_err(), expected);
        }
    }
}
