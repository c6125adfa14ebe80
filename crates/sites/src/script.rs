//! The scripts that engines run.

use std::fmt::Write as _;

use tollgate_batch::{EngineKind, shell};
use tollgate_model::Span;

use crate::service_address::{PilotBody, ServiceAddress};
use crate::settings::{PilotForm, SiteSettings};

/// The hidden argument with which the program becomes an execution daemon of another scheduler.
pub const EXECUTION_NODE_ARG: &str = "__execution-node";

/// The script of one pilot.
#[derive(Clone, Debug)]
pub struct PilotScript<'a> {
    /// The site.
    pub site: &'a SiteSettings,
    /// The number of the pilot.
    pub number: u32,
    /// Its size and its time limit.
    pub form: PilotForm,
    /// The service that the pilot joins.
    pub service: &'a ServiceAddress,
    /// The file with the pilot's token, as the node sees it. None if the service needs no token.
    pub token_file: Option<&'a str>,
    /// The numbers of the site's pilots that may still run.
    pub live: Vec<u32>,
}

impl PilotScript<'_> {
    /// Returns the name of the pilot, which is the name of its worker.
    pub fn worker_name(&self) -> String {
        format!("{}.{}", self.site.name, self.number)
    }

    /// Returns the text of the script. The shell replaces itself with the worker, because some
    /// engines signal only the first process of a job.
    pub fn text(&self) -> String {
        let mut text = prologue(self.site, &self.worker_name());
        text.push_str(&self.removal());
        text.push_str(&preparations(self.site));
        let changed = match (self.service.body, has_preparations(self.site)) {
            (PilotBody::Worker, true) => " --env-since \"$dir/env\"",
            (PilotBody::Worker, false) | (PilotBody::ExecutionDaemon, _) => "",
        };
        let _ = writeln!(
            text,
            "exec {}{changed} --data \"$dir\" >\"$dir/pilot.log\" 2>&1 </dev/null",
            shell::line(&self.body_words())
        );
        text
    }

    /// Returns the lines that remove what earlier pilots of the site left on this node: those that were killed.
    /// Their logs stay for a day, for the user who looks for the reason.
    fn removal(&self) -> String {
        let live: String = self
            .live
            .iter()
            .map(|number| format!("{number} "))
            .collect();
        format!(
            "for old in {}/tollgate-{}-{}.*; do\n\
             case \" {live}\" in *\" ${{old##*.}} \"*) continue;; esac\n\
             [ \"${{old##*.}}\" -lt {} ] 2>/dev/null || continue\n\
             find \"$old\" -prune -type d -user \"$(id -u)\" -mtime +0 -exec rm -rf {{}} +\n\
             done\n",
            parent(self.site),
            self.site.key,
            self.site.name,
            self.number
        )
    }

    fn body_words(&self) -> Vec<String> {
        match self.service.body {
            PilotBody::Worker => self.worker_words(),
            PilotBody::ExecutionDaemon => self.daemon_words(),
        }
    }

    fn daemon_words(&self) -> Vec<String> {
        let site = self.site;
        let mut words = vec![site.program.clone(), EXECUTION_NODE_ARG.to_owned()];
        let mut option = |name: &str, value: &str| {
            words.extend([name.to_owned(), value.to_owned()]);
        };
        option("--until", &until(site.engine, self.form.shape.time));
        option("--idle", &format!("{}s", site.idle_s));
        option("--site", &site.name);
        option("--number", &self.number.to_string());
        option("--cores", &self.form.shape.cores.to_string());
        if let Some(memory) = self.memory_mib() {
            option("--memory-mib", &memory.to_string());
        }
        if let Some(file) = self.token_file {
            option("--ticket", file);
        }
        words
    }

    /// Returns the memory that the pilot offers at most. A part of a node offers what the engine gives it, unless the
    /// user asks for some.
    fn memory_mib(&self) -> Option<u64> {
        let takes_node = self.form.is_whole || self.site.takes_whole_nodes();
        let of_node = self.site.node_memory_mib.filter(|_| takes_node);
        self.form.memory_mib.or(of_node)
    }

    fn worker_words(&self) -> Vec<String> {
        let site = self.site;
        let mut words: Vec<String> = vec![site.program.clone()];
        let mut option = |name: &str, value: &str| {
            words.extend([name.to_owned(), value.to_owned()]);
        };
        option("worker", "--pilot");
        option("--until", &until(site.engine, self.form.shape.time));
        option("--idle", &format!("{}s", site.idle_s));
        option("--site", &site.name);
        option("--name", &self.worker_name());
        option("--connect", &self.service.connect);
        if let Some(file) = self.token_file {
            option("--token-file", file);
        }
        if let Some(fingerprint) = &self.service.fingerprint {
            option("--fingerprint", fingerprint);
        }
        option("--nodes", &self.form.shape.cores.to_string());
        if let Some(memory) = self.memory_mib() {
            option("--memory", &format!("{memory}M"));
        }
        words.push("--discard".to_owned());
        words.extend(site.worker_args.iter().cloned());
        words
    }
}

/// Returns the script of a probe: a job that writes into `file` what it finds on its node, and leaves
/// the file in one step.
pub(crate) fn probe_script(site: &SiteSettings, words: &[String], file: &str) -> String {
    let mut text = prologue(site, "probe");
    text.push_str(&preparations(site));
    let file = shell::quote(file);
    let _ = writeln!(
        text,
        "{} >\"$dir/probe\" 2>&1 </dev/null; code=$?\n\
         {{ echo \"node $(uname -n)\"; echo \"clock $(date +%s)\"; cat \"$dir/probe\"; echo \"exit $code\"; }} >{file}.new && mv {file}.new {file}\n\
         rm -rf \"$dir\"",
        shell::line(words)
    );
    text
}

/// Returns the start of a script, up to its directory. No line that an engine would read as an option
/// can follow the first command.
fn prologue(site: &SiteSettings, name: &str) -> String {
    format!(
        "#!/bin/sh\n\
         set -u\n\
         umask 077\n\
         dir={}/tollgate-{}-{name}\n\
         mkdir -p \"$dir\" || exit 1\n",
        parent(site),
        site.key
    )
}

/// Returns the directory for the directories of pilots on a node, as a word of shell.
fn parent(site: &SiteSettings) -> String {
    match &site.dir {
        Some(dir) => shell::quote(dir),
        None => "\"${TMPDIR:-/tmp}\"".to_owned(),
    }
}

fn has_preparations(site: &SiteSettings) -> bool {
    !site.env.is_empty() || !site.setup.is_empty()
}

/// Returns the lines that set the user's variables and prepare what the tasks need. Modules of many a site use
/// variables that are not set.
fn preparations(site: &SiteSettings) -> String {
    let mut text = String::new();
    if has_preparations(site) {
        // Tasks get what differs from this.
        text.push_str("env -0 >\"$dir/env\"\n");
    }
    for (name, value) in &site.env {
        let _ = writeln!(text, "export {name}={}", shell::quote(value));
    }
    if !site.setup.is_empty() {
        text.push_str("set +u\n");
        for line in &site.setup {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str("set -u\n");
    }
    text
}

/// Returns the end of the pilot for its worker. Slurm and Grid Engine tell a job when it ends;
/// elsewhere the time counts from the start of the script.
fn until(engine: EngineKind, time: Span) -> String {
    match engine {
        EngineKind::Slurm | EngineKind::Sge => "auto".to_owned(),
        EngineKind::Htcondor | EngineKind::Local => format!("+{}s", time.as_secs_f64().ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(site: &SiteSettings) -> String {
        let service = ServiceAddress {
            connect: "https://here:8443".to_owned(),
            fingerprint: Some("sha256:00".to_owned()),
            needs_token: true,
            body: PilotBody::Worker,
        };
        let script = PilotScript {
            site,
            number: 3,
            form: site.kinds()[0],
            service: &service,
            token_file: Some("/home/a b/token"),
            live: vec![2, 3],
        };
        script.text()
    }

    #[test]
    fn pilot_replaces_its_shell() {
        let site = SiteSettings::new("west", EngineKind::Slurm, "7f3a", "/opt/tollgate");
        assert_eq!(
            script(&site),
            "#!/bin/sh\n\
             set -u\n\
             umask 077\n\
             dir=\"${TMPDIR:-/tmp}\"/tollgate-7f3a-west.3\n\
             mkdir -p \"$dir\" || exit 1\n\
             for old in \"${TMPDIR:-/tmp}\"/tollgate-7f3a-west.*; do\n\
             case \" 2 3 \" in *\" ${old##*.} \"*) continue;; esac\n\
             [ \"${old##*.}\" -lt 3 ] 2>/dev/null || continue\n\
             find \"$old\" -prune -type d -user \"$(id -u)\" -mtime +0 -exec rm -rf {} +\n\
             done\n\
             exec /opt/tollgate worker --pilot --until auto --idle 300s --site west --name west.3 \
             --connect https://here:8443 --token-file '/home/a b/token' --fingerprint sha256:00 \
             --nodes 1 --discard --data \"$dir\" >\"$dir/pilot.log\" 2>&1 </dev/null\n"
        );
    }

    #[test]
    fn pilot_begins_with_the_variables_and_the_lines_of_the_user() {
        let mut site = SiteSettings::new("west", EngineKind::Slurm, "7f3a", "/opt/tollgate");
        site.memory_mib = Some(2000);
        site.setup = vec!["module load gcc".to_owned()];
        site.env = [("OMP_NUM_THREADS", "1"), ("NOTE", "it's")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let text = script(&site);
        let (_, rest) = text.split_once("done\n").expect("a prologue");
        let (lines, worker) = rest.split_once("exec ").expect("a worker");
        assert_eq!(
            lines,
            "env -0 >\"$dir/env\"\nexport NOTE='it'\\''s'\nexport OMP_NUM_THREADS=1\nset +u\nmodule load gcc\nset -u\n"
        );
        assert!(worker.contains("--memory 2000M"), "{worker}");
        assert!(
            worker.contains(" --env-since \"$dir/env\" --data"),
            "{worker}"
        );
    }

    #[test]
    fn pilot_of_a_whole_node_offers_no_more_than_the_engine_has_there() {
        let mut site = SiteSettings::new("west", EngineKind::Slurm, "7f3a", "/opt/tollgate");
        site.node_memory_mib = Some(4000);
        assert!(script(&site).contains(" --memory 4000M "));
        site.memory_mib = Some(2000);
        assert!(script(&site).contains(" --memory 2000M "));
    }

    #[test]
    fn execution_daemon_gets_its_ticket_and_the_size_of_the_pilot() {
        let mut site = SiteSettings::new("west", EngineKind::Slurm, "7f3a", "/opt/tollgate");
        site.memory_mib = Some(2000);
        let script = PilotScript {
            site: &site,
            number: 3,
            form: site.kinds()[0],
            service: &ServiceAddress::execution_daemons(),
            token_file: Some("/home/a/3.token"),
            live: vec![3],
        };
        let text = script.text();
        let last = text.lines().last();
        assert_eq!(
            last,
            Some(
                "exec /opt/tollgate __execution-node --until auto --idle 300s --site west --number 3 \
                 --cores 1 --memory-mib 2000 --ticket /home/a/3.token \
                 --data \"$dir\" >\"$dir/pilot.log\" 2>&1 </dev/null"
            )
        );
    }

    #[test]
    fn engine_without_a_known_end_gets_the_time() {
        let mut site = SiteSettings::new("pool", EngineKind::Htcondor, "7f3a", "tollgate");
        site.dir = Some("/scratch/it's".to_owned());
        site.worker_args = vec!["--root-jobs".to_owned()];
        let text = script(&site);
        assert!(text.contains("--until +3600s"), "{text}");
        assert!(
            text.contains("dir='/scratch/it'\\''s'/tollgate-7f3a-pool.3\n"),
            "{text}"
        );
        assert!(text.contains("--root-jobs --data"), "{text}");
    }
}
