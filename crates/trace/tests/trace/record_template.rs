//! Records whose fields a test can change by name.

use tollgate_trace::{ColumnSelection, ReadOptions, Trace, TraceFormat, read};

/// A file of two records of one format: a plain one, which shows the format, and one whose fields a test
/// sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordTemplate {
    pub(crate) format: TraceFormat,
    /// Text before the records.
    pub(crate) before: &'static str,
    /// A record, with `<<name=value>>` for each field that a job need not have, and `<<number>>` for the
    /// number of the job.
    pub(crate) record: &'static str,
    /// Text between the records.
    pub(crate) between: &'static str,
    /// Text behind the records.
    pub(crate) behind: &'static str,
}

impl RecordTemplate {
    /// Returns the names of the fields that a job need not have.
    pub(crate) fn optional_fields(&self) -> Vec<&'static str> {
        let fields = self.record.split("<<").skip(1);
        let fields = fields.filter_map(|field| field.split(">>").next()?.split_once('='));
        fields.map(|(name, _)| name).collect()
    }

    /// Returns the file with these fields in its second record, and the usual ones elsewhere.
    pub(crate) fn file(&self, fields: &[(&str, &str)]) -> String {
        let Self {
            before,
            between,
            behind,
            ..
        } = self;
        let (first, second) = (self.filled("1", &[]), self.filled("2", fields));
        format!("{before}{first}{between}{second}{behind}")
    }

    /// Reads the file with these fields.
    ///
    /// # Panics
    /// If the file has another format, or cannot be read.
    pub(crate) fn read(&self, fields: &[(&str, &str)]) -> Trace {
        let columns = ColumnSelection::All;
        let text = self.file(fields);
        let trace = read("jobs", text.as_bytes(), ReadOptions { columns });
        let trace = trace.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(trace.format, Some(self.format), "{text}");
        trace
    }

    fn filled(&self, number: &str, fields: &[(&str, &str)]) -> String {
        let mut parts = self.record.split("<<");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (field, rest) = part.split_once(">>").expect("a field ends");
            let (name, usual) = field.split_once('=').unwrap_or((field, number));
            let given = fields.iter().find(|(given, _)| *given == name);
            text += given.map_or(usual, |(_, value)| value);
            text += rest;
        }
        text
    }
}

/// The formats, each with every field that a job need not have.
pub(crate) const TEMPLATES: [RecordTemplate; 10] = [
    RecordTemplate {
        format: TraceFormat::Swf,
        before: "; Version: 2.2\n",
        record: "<<number>> 100 <<wait=5>> 40 <<allocated=4>> <<cpu=35>> <<memory=1000>> <<requested=4>> \
                 <<estimate=900>> <<requested memory=2000>> <<status=1>> <<user=7>> <<group=2>> \
                 <<executable=11>> <<queue=3>> -1 -1 -1",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::Gwf,
        before: "# Version: 1.0\n",
        record: "<<number>> 100 <<wait=5>> 40 <<allocated=4>> <<cpu=35>> <<memory=1000>> <<requested=4>> \
                 <<estimate=900>> <<requested memory=2000>> <<status=1>> <<user=U7>> <<group=G2>> \
                 <<executable=X11>> <<queue=Q3>> -1 -1 -1 UNITARY -1 -1 -1 -1 -1 -1 -1 -1 -1 <<project=P9>>",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::Table,
        before: "job_id,submit_s,runtime_s,procs,estimate_s,user,deadline_s,budget,penalty_per_s,wait_s,\
                 cpu_time_s,peak_memory_bytes,requested_memory_bytes,status\n",
        record: "<<number>>,100,40,<<procs=4>>,<<estimate=900>>,<<user=ann>>,<<deadline=600>>,<<budget=5>>,\
                 <<penalty=1>>,<<wait=5>>,<<cpu=35>>,<<memory=1000>>,<<requested memory=2000>>,\
                 <<status=completed>>",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::GridEngine,
        before: "",
        record: "<<queue=all.q>>:h1:<<group=users>>:<<user=ann>>:<<name=a>>:<<number>>:<<account=sge>>:0:\
                 1600000100:1600000105:1600000145:<<failed=0>>:<<exit status=0>>:40:\
                 0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:<<project=NONE>>:dept:<<environment=mpi>>:<<slots=4>>:\
                 <<task=0>>:<<cpu=5>>:1.5:0.0:-l h_rt=<<limit=900>>,h_vmem=<<requested memory=1G>>:0.0:NONE:\
                 <<memory=1024>>:0:0",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::Slurm,
        before: "JobID|User|Group|Account|Partition|State|Submit|Start|End|Elapsed|AllocCPUS|ReqCPUS|NNodes|\
                 NodeList|Timelimit|TotalCPU|ReqMem|ReqTRES|MaxRSS|NTasks|TRESUsageInTot|JobName\n",
        record: "<<number>>|<<user=ann>>|<<group=g>>|<<account=p>>|<<queue=cpu>>|<<state=COMPLETED>>|\
                 2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T10:00:45|<<elapsed=00:00:40>>|\
                 <<allocated=4>>|<<requested=4>>|<<nodes=1>>|<<hosts=n1>>|<<limit=00:15:00>>|<<cpu=00:00:35>>|\
                 <<requested memory=2G>>|<<requested resources=cpu=4>>|<<memory=100K>>|<<tasks=1>>|\
                 <<usage=cpu=00:00:35>>|<<name=a>>",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::SlurmJson,
        before: "{\"jobs\": [",
        record: "{\"job_id\": <<number>>, \"name\": <<name=\"a\">>, \"user\": <<user=\"ann\">>, \"group\": \
                 <<group=\"g\">>, \"account\": <<account=\"p\">>, \"partition\": <<queue=\"cpu\">>, \"state\": \
                 <<state={\"current\": [\"COMPLETED\"]}>>, \"association\": <<association=null>>, \"steps\": \
                 <<steps=[]>>, \"nodes\": <<hosts=\"n1\">>, \"required\": <<required={\"CPUs\": 4}>>, \"tres\": \
                 <<resources={\"requested\": [{\"type\": \"mem\", \"count\": 2000}]}>>, \"time\": {\"submission\": 100, \"start\": 105, \"end\": 145, \
                 \"elapsed\": <<elapsed=40>>, \"limit\": <<limit=15>>, \"total\": <<cpu={\"seconds\": 35}>>}}",
        between: ", ",
        behind: "]}",
    },
    RecordTemplate {
        format: TraceFormat::Pbs,
        before: "",
        record: "03/01/2024 08:00:00;E;<<number>>.srv;user=<<user=ann>> group=<<group=g>> \
                 account=<<account=\"p\">> jobname=<<name=a>> queue=<<queue=q>> ctime=1700000100 \
                 start=1700000105 end=1700000145 exec_host=<<hosts=n1/0*4>> \
                 Resource_List.walltime=<<limit=00:15:00>> Resource_List.ncpus=<<requested=4>> \
                 Resource_List.nodes=<<nodes=1:ppn=4>> Resource_List.select=<<select=1:ncpus=4>> \
                 Resource_List.mem=<<requested memory=2gb>> resources_used.cput=<<cpu=00:00:35>> \
                 resources_used.mem=<<memory=100kb>> resources_used.ncpus=<<used=4>> \
                 resources_used.walltime=<<elapsed=00:00:40>> Exit_status=<<exit status=0>>",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::Lsf,
        before: "",
        record: "\"JOB_FINISH\" \"10.108\" 145 <<number>> <<user number=1501>> 33554434 <<processors=4>> 100 0 0 \
                 105 \"<<user=ann>>\" \"<<queue=normal>>\" \"\" \"\" \"\" \"head\" \"/home\" \"\" \"\" \"\" \
                 \"1.101\" 0 1 \"<<host=4*n1>>\" <<status=64>> <<factor=2.0>> \"<<name=j>>\" \"<<command=run>>\" \
                 <<user time=1.5>> <<system time=0.5>> 10 0 -1 0 0 1 1 0 1 1 -1 0 0 0 1 1 -1 \"\" \
                 \"<<account=proj>>\" 0 1 \"\" \"\" <<exit=0>> <<memory=4096>> 0 \"\" \"\" \"\" \"\" 0 \"\" 0 \"\" \
                 <<warning time=-1>> \"\" \"\" \"\" \"\" <<estimate=900>> \"\" \"\" 7184 \"\" 105 \"\" \"\" 1 1058 \"1\" 1 \
                 \"n1\" 10 20 0.5 0.1 57 <<limit=3600>> 4194304 2048 \"rusage[mem=<<requested memory=100>>]\" \"\" -1",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::CondorHistory,
        before: "",
        record: "ClusterId = <<number>>\nQDate = 100\nJobStatus = 4\nOwner = <<user=\"ann\">>\n\
                 Cmd = <<command=\"/bin/a\">>\nAcctGroup = <<group=\"g\">>\nProjectName = <<account=\"p\">>\n\
                 JobStartDate = <<start=105>>\nJobCurrentStartDate = 105\nCompletionDate = 145\n\
                 CommittedTime = 40\nRequestCpus = <<requested=4>>\nCpusProvisioned = <<allocated=4>>\n\
                 MaxHosts = <<hosts=1>>\nRemoteUserCpu = <<user time=30>>\nRemoteSysCpu = <<system time=5>>\n\
                 ImageSize = <<image=1000>>\nResidentSetSize = <<memory=900>>\nRequestMemory = \
                 <<requested memory=2>>\nExitCode = <<exit status=0>>\nExitBySignal = <<signal=false>>\n\
                 AllowedExecuteDuration = <<limit=900>>\n",
        between: "\n",
        behind: "\n",
    },
    RecordTemplate {
        format: TraceFormat::SlurmEvents,
        before: "",
        record: "-dt 100 -e submit_batch_job | -sim-walltime 40 --uid=<<user=ann>> -J jobid_<<number>> \
                 -N <<nodes=1>> -n <<tasks=4>> -t <<limit=00:15:00>> -p <<queue=cpu>> \
                 --mem=<<requested memory=2G>> -A <<account=p>> a.job",
        between: "\n",
        behind: "\n",
    },
];

/// Returns the template of a format.
pub(crate) fn template(format: TraceFormat) -> RecordTemplate {
    let found = TEMPLATES
        .into_iter()
        .find(|template| template.format == format);
    found.unwrap_or_else(|| panic!("{format:?} has a template"))
}
