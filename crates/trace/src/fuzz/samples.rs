//! Valid records of every format, which the fuzz tests damage.

/// A sample.
pub const SWF: &str = "; MaxProcs: 128\n; MaxNodes: 400 (48 interactive)\n; UnixStartTime: 893466664\n\
    1 0 5 40.25 489.00 3436.5 -1 4 900 -1 1 7 2 11 3 -1 -1 -1 {12,12} q_1d 1:ppn=4\r\n\
    2 10 -1 60 8\n3 12 -1 -1 -1 -1 -1 16 3600 -1 0 7 2 12 3 -1 -1 -1\n\n4 9 0 1e3 1\n";

/// A sample.
pub const TABLE: &str = "job_id,submit_s,runtime_s,procs,estimate_s,user,group,executable,queue,\
    deadline_s,budget,penalty_per_s,site\n\
    1,0,10.5,4,20,ann,,a.out,,60,5.25,0.1,north\n\
    2,5,-1,1,30,,staff,,long,NaN,,,\"so, th\"\n\
    3,4.000001,7,2,,bob,staff,b.out,long,1e3,0,0,\"a \"\"quoted\"\" line\nbreak\"\n";

/// A sample.
pub const SGE: &str = "# Version: 6.2u5\n\
    long:node1:staff:ann:a.out:77:sge:0:1310761621:1311095354:1311095414:0:0:60:60.05:0.08:104188.0:\
    0:0:0:0:28001:0:0:0.0:24:0:0:0:41:549:NONE:dept:mpi:4:3:60.13:7.3:0.0:-l h_rt=1:00:00 -pe mpi 4:\
    0.0:NONE:189153280.0:0:0\n\
    long:node1:staff:ann:a.out:78:sge:0:1310761621000:0:0:0:0:60:60.05:0.08:104188.0:\
    0:0:0:0:28001:0:0:0.0:24:0:0:0:41:549:NONE:dept:mpi:4:3:60.13:7.3:0.0:-l h_rt=36000:\
    0.0:NONE:189153280.0:0:0:a:b:c:d:e:f:g:h:i\n";

/// A sample.
pub const SLURM: &str = "JobID|JobIDRaw|User|State|Submit|Start|End|AllocCPUS|Timelimit|JobName\n\
    7_1|8|ann|COMPLETED|2016-12-22T07:15:12|2016-12-22T07:16:12|2016-12-23T07:15:12|4|1-00:00:00|a|b\n\
    7_1.batch|8.batch||COMPLETED|2016-12-22T07:16:12|2016-12-22T07:16:12||4||batch\n\
    9||bob|CANCELLED by 1|2016-12-22T07:15:13|Unknown|Unknown|0|Partition_Limit|c\n";

/// A sample.
pub const SLURM_BARE: &str = "163485|163485|c|black|q|a|g|1|ann|2|2016-12-22T07:15:12|\
    2016-12-22T07:15:12|2016-12-22T07:15:13|2017-01-01T20:42:19|10-13:27:06|0:0|FAILED|1|12|12|\
    31000Mn|cpu=12|cpu=12|37-14:00:00|n1|a.out\n";

/// A sample.
pub const PBS: &str = "12/21/2009 15:27:00;S;6[3].edge;user=ann\n\
    12/21/2009 15:28:00;E;6[3].edge;user=ann group=staff jobname=a.out queue=long ctime=100 \
    qtime=101 start=160 end=220 exec_host=n-1/7+n-1/0*13+n/0-3\n,7 Resource_List.ncpus=8\n\
    Resource_List.walltime=04:00:00\n\
    12/21/2009 15:29:00;E;7;user=bob ctime=100 resources_used.ncpus=3\r\n";

/// A sample.
pub const SLURM_NAMES: &str = "JobID|JobName|State|Submit|Start|End|ElapsedRaw|AllocTRES|TimelimitRaw|SubmitLine\n\
    7|a | b|COMPLETED|2016-12-22 07:15:12|2016-12-22T07:16:12+0100|2016-12-22T07:20:12Z|240|cpu=4|90|run &&\n\
    on\n7.0|x|COMPLETED|2016-12-22T07:16:12|2016-12-22T07:16:12|||||\n";

/// A sample.
pub const PBS_QUOTES: &str = "12/21/2009 15:28:00;E;6[1].edge;user=ann account=\"my group\" ctime=100 start=160 \
    end=220 Resource_List.select=2:ncpus=3 Resource_List.walltime=1:00:00:00\nserver restarted\n\
    12/21/2009 15:28:01;E;6[].edge;user=ann ctime=100 start=0 end=220\n\0\0\
    12/21/2009 15:29:00;E;7;user=bob ctime=100 start=1 resources_used.walltime=00:01:00\n";

/// A sample.
pub const TABLE_TABS: &str = "job_id\tsubmit_s\truntime_s\tprocs\testimate_s\tstatus\n\
    1\t0\t10.5\t4\tNA\tCompleted\n2\t5\t\"1,234\"\t1\tnull\tTIMEOUT\n";

/// A sample.
pub const GWF: &str = "# Version: 1.0\n1 1136073600 5 40 4 35 1000 4 900 2000 1 U7 G2 X11 Q3 -1 -1 -1 \
    UNITARY -1 -1 -1 -1 -1 -1 -1 -1 -1 P9\n2 1136073601 -1 -1 4 -1 -1 4 -1 -1 0 U7 G2 X11 Q3 -1 -1 -1 \
    BOT -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n";

/// A sample.
pub const GWF_COMMAS: &str = "WorkflowID, JobID , SubmitTime, RunTime, NProcs, ReqNProcs, Dependencies\n\
    0 , 1 , 16 , 11 , 1 , 1 , \n0 , 2 , 40 , 11 , 0 , 3 , 1 4\n";

/// A sample.
pub const LSF: &str = "\"JOB_FINISH\" \"10.108\" 220 101 1501 33554434 8 100 0 0 160 \"ann\" \"normal\" \"\" \
    \"\" \"\" \"head\" \"/home\" \"\" \"\" \"\" \"1.101\" 0 2 \"3*n1\" \"n2\" 64 2.0 \"\" \"a.out \"\"x\ny\"\"\" \
    1.5 0.5 10 0 -1 0 0 1 1 0 1 1 -1 0 0 0 1 1 -1 \"\" \"proj\" 0 1 \"\" \"\" 3 4096 0 \"\" \"\" \"\" \"\" 0 \
    \"\" 5 \"\" -1 \"\" \"\" \"\" \"\" 7200 \"\" \"\" 7184 \"\" 160 \"\" \"\" 1 1058 \"1\" 1 \"n1\" 10 20 0.5 \
    0.1 3600 4194304 2048 \"select[a] rusage[mem=1000.00,swp=1]\" \"\" -1\n\
    \"EVENT_ADRSV_FINISH\" \"10.1\" 5 6\n";

/// A sample.
pub const SLURM_JSON: &str = r#"{"meta": {"Slurm": {}}, "jobs": [
    {"account": "physics", "job_id": 7, "name": "a.out", "user": "ann", "group": "staff",
     "partition": "long", "state": {"current": ["TIMEOUT"], "reason": "None"},
     "time": {"elapsed": 60, "end": 220, "start": {"set": true, "infinite": false, "number": 160},
              "submission": 100, "limit": 30, "total": {"seconds": 59, "microseconds": 500000}},
     "required": {"CPUs": 4}, "tres": {"allocated": [{"type": "cpu", "id": 1, "count": 4}],
     "requested": [{"type": "mem", "id": 2, "count": 1000}]},
     "steps": [{"tres": {"consumed": {"total": [{"type": "mem", "count": 4096}]}}}]},
    {"job_id": 8, "state": {"current": "CANCELLED"}, "time": {"submission": 101, "start": 0}}]}"#;

/// A sample.
pub const SLURM_EVENTS: &str = "-dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=ann -J \
    jobid_00017 -N 2 -n 32 -t 3-00:00:00 -p general --mem=500G -A acc a.job\n\
    -dt 11 -e submit_batch_job | -sim-walltime 5 -n 1\n-dt 12 -e cancel_job | -jobid=17\n";

/// A sample.
pub const CONDOR_HISTORY: &str = "ClusterId = 7\nProcId = 1\nQDate = 100\nJobStatus = 4\nOwner = \"a\\\"n\"\n\
    Cmd = \"/bin/a.out\"\nJobStartDate = 110\nJobCurrentStartDate = 160\nCompletionDate = 230\n\
    CommittedTime = 70.0\nCommittedSuspensionTime = 10\nRequestCpus = 2\nMaxHosts = 2\n\
    RemoteUserCpu = 55.5\nRemoteSysCpu = 0.5\nImageSize = 9\nRequestMemory = a + b\nExitCode = 0\n\
    MaxWallTime = 60\n\nClusterId = 8\nQDate = 101\nJobStatus = 3\nJobCurrentStartDate = 160\n\
    EnteredCurrentStatus = 200\nRemoteWallClockTime = 40.0\n*** Offset = 5\n";

/// A sample.
pub const CONDOR_JSON: &str = r#"[{"ClusterId": 7, "ProcId": 0, "QDate": 100, "JobStatus": 4, "Owner": "ann",
    "CommittedTime": 60, "JobCurrentStartDate": 160, "CompletionDate": 220, "RequestCpus": 2,
    "ExitBySignal": true, "RequestMemory": "\/Expr(a + b)\/", "Extra": {"a": [1, "}"]}},
    {"ClusterId": 8, "QDate": 101, "JobStatus": 3}]"#;

/// A sample.
pub const CONDOR_EVENTS: &str = "000 (7.000.000) 03/20 10:00:00 Job submitted from host: <a>\n...\n\
    001 (7.000.000) 03/20 10:01:00 Job executing on host: <b>\n...\n\
    010 (7.000.000) 03/20 10:02:00 Job was suspended.\n...\n\
    011 (7.000.000) 03/20 10:03:00 Job was unsuspended.\n...\n\
    003 (7.000.000) 03/20 10:03:30 Job was checkpointed.\n...\n\
    004 (7.000.000) 03/20 10:04:00 Job was evicted.\n\t(0) Job was not checkpointed.\n...\n\
    001 (7.000.000) 01/02 10:05:00 Job executing on host: <b>\n...\n\
    006 (7.000.000) 01/02 10:06:00 Image size of job updated: 5\n\t3  -  MemoryUsage of job (MB)\n...\n\
    005 (7.000.000) 01/02 10:07:00.5 Job terminated.\n\t(1) Normal termination (return value 0)\n\
    \t\tUsr 0 00:00:06, Sys 0 00:00:01  -  Total Remote Usage\n\
    \t   Cpus                 :                 1         2\n\
    \t   Memory (MB)          :       12      100       128\n...\n\
    000 (8.001.000) 2024-03-20 10:00:00 Job submitted\n...\n009 (8.001.000) 2024-03-20 10:00:09 x\n...\n";

/// A sample.
pub const LOGINS: &str = "computer,login,logout\na,2016-02-28T08:09:53.5Z,2016-02-28T08:10:00Z\n\
    \"b, 2\",2016-02-28 08:09:53,\nc,100,150\n";

/// A sample.
pub const FTA: &str = "event_id component_id node_id platform_id node_name event_type event_start_time \
    event_stop_time event_end_reason\n0 0 655 3 10.000 0 1099755300 1099906200 8000\n\
    1 0 655 3 10.000 1 1099906200 1112096400 4022\n";

/// All samples that are text.
pub const SAMPLES: [&str; 19] = [
    SWF,
    TABLE,
    SGE,
    SLURM,
    SLURM_BARE,
    PBS,
    SLURM_NAMES,
    PBS_QUOTES,
    TABLE_TABS,
    GWF,
    GWF_COMMAS,
    LSF,
    SLURM_JSON,
    SLURM_EVENTS,
    CONDOR_HISTORY,
    CONDOR_JSON,
    CONDOR_EVENTS,
    LOGINS,
    FTA,
];
