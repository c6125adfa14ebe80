//! The script of a job, with the variables of Slurm that are known only at its start.

/// The shells that understand the line written before a script.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];

/// The setup that a job runs before the first line of its script.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlurmPrelude<'a> {
    /// Whether the job is an array.
    pub(crate) is_array: bool,
    /// The number of processors of each task, at least 1.
    pub(crate) procs_per_task: u32,
    /// The number of tasks.
    pub(crate) n_tasks: u32,
    /// The time limit in seconds, if there is one.
    pub(crate) limit_s: Option<u64>,
    /// The number of GPUs of the job, if it has any.
    pub(crate) gpus: Option<u32>,
    /// The file that all tasks of an array append their output to. None if the service writes the output.
    pub(crate) output: Option<&'a str>,
    /// The same for standard error, if it has a file of its own.
    pub(crate) error: Option<&'a str>,
}

/// Reads the hosts of the job: names with commas in `_n`, processors in `_c`, tasks in `_k`, their number in `_m`.
const HOSTS: &str = "_t=$TOLLGATE_HOSTS, _n= _c= _k= _m=0; while [ -n \"$_t\" ]; do _h=${_t%%,*} _t=${_t#*,}; \
     _n=$_n${_n:+,}${_h%:*} _c=$_c${_c:+,}${_h##*:} _m=$((_m+1)); ";

/// Joins equal neighbours in the lists `_c` and `_k`: `2,2,1` becomes `2(x2),1`.
const JOINED: &str = "_j() { _o= _l= _x=0 _s=$IFS; IFS=,; for _v in $1 ''; do if [ \"$_v\" = \"$_l\" ]; then _x=$((_x+1)); else \
     [ -z \"$_l\" ] || _o=$_o${_o:+,}$_l; [ $_x -lt 2 ] || _o=\"$_o(x$_x)\"; _l=$_v _x=1; fi; done; IFS=$_s; }; \
     _i=${_c%%,*}; _j \"$_c\"; _c=$_o; _j \"$_k\"; _k=$_o; ";

/// Lets a shell outlive signals that are meant for its steps: Slurm sends these to the steps alone. Unlike an ignored signal,
/// one with a handler is not ignored by the programs that the shell starts.
const TRAP: &str = "trap : USR1 USR2";

impl SlurmPrelude<'_> {
    /// Returns the setup as one line of shell code.
    pub(crate) fn line(&self) -> String {
        let per_task = self.procs_per_task.max(1);
        // On one host, as many tasks as were asked for; on several, what its processors hold.
        let (tasks, on_one) = (
            format!("_k=$_k${{_k:+,}}$((${{_h##*:}}/{per_task})); done; "),
            format!("[ $_m != 1 ] || _k={}; ", self.n_tasks),
        );
        let array = match self.is_array {
            true => " SLURM_ARRAY_JOB_ID=$TOLLGATE_JOB SLURM_ARRAY_TASK_ID=$TOLLGATE_TASK",
            false => "",
        };
        let restarts = "[ $TOLLGATE_TRY = 1 ] || export SLURM_RESTART_COUNT=$((TOLLGATE_TRY-1)); ";
        let end = match self.limit_s {
            Some(secs) => format!("export SLURM_JOB_END_TIME=$((SLURM_JOB_START_TIME+{secs})); "),
            None => String::new(),
        };
        let gpus = match self.gpus {
            Some(count) => format!(
                "export SLURM_GPUS={count}; [ -z \"${{TOLLGATE_GPU-}}\" ] || export SLURM_JOB_GPUS=\"$TOLLGATE_GPU\"; "
            ),
            None => String::new(),
        };
        let output = self.output.map_or_else(String::new, |file| {
            let both = if self.error.is_none() { " 2>&1" } else { "" };
            format!("exec >>{}{both}; ", quote(file))
        });
        let error = self
            .error
            .map_or_else(String::new, |file| format!("exec 2>>{}; ", quote(file)));
        // Open MPI reaches the other hosts by the agent that the job names, not by `srun`.
        let mpi = "export OMPI_MCA_plm=^slurm OMPI_MCA_ras=^slurm PRTE_MCA_plm=^slurm PRTE_MCA_ras=^slurm; ";
        format!(
            "{output}{error}{HOSTS}{tasks}{on_one}{JOINED}\
             export SLURM_JOB_ID=$TOLLGATE_NUMBER SLURM_JOBID=$TOLLGATE_NUMBER{array} \
             SLURM_JOB_NODELIST=$_n SLURM_NODELIST=$_n SLURM_JOB_NUM_NODES=$_m SLURM_NNODES=$_m \
             SLURM_JOB_CPUS_PER_NODE=$_c SLURM_CPUS_ON_NODE=$_i SLURM_TASKS_PER_NODE=$_k \
             SLURMD_NODENAME=$TOLLGATE_HOST HOSTNAME=$TOLLGATE_HOST SLURM_TASK_PID=$$ \
             SLURM_JOB_START_TIME=$(date +%s); {end}{restarts}{gpus}{mpi}unset _t _n _c _k _m _h _o _l _x _s _v _i; unset -f _j"
        )
    }

    /// Returns the script with the setup. A script of a shell gets it behind its first line. Another one is read by its
    /// interpreter from a descriptor of a shell that runs the setup.
    pub(crate) fn prepend_to(&self, text: &str) -> String {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let interpreter = first.strip_prefix("#!").unwrap_or("/bin/sh").trim();
        if is_posix_shell(interpreter) {
            return format!("#!{interpreter}\n{}; {TRAP}\n{rest}", self.line());
        }
        let mut end = "END_OF_SCRIPT".to_owned();
        while text.lines().any(|line| line == end) {
            end.push('_');
        }
        let break_at_end = if text.ends_with('\n') { "" } else { "\n" };
        // The system passes all words behind the interpreter as one.
        let command = match interpreter.split_once(char::is_whitespace) {
            Some((program, word)) => format!("{} {}", quote(program), quote(word.trim())),
            None => quote(interpreter),
        };
        format!(
            "#!/bin/sh\n{}; exec {command} /dev/fd/9 \"$@\" 9<<'{end}'\n{text}{break_at_end}{end}\n",
            self.line()
        )
    }
}

/// Quotes a text for a shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn is_posix_shell(interpreter: &str) -> bool {
    let mut words = interpreter.split_whitespace();
    let program = words.next().unwrap_or_default();
    let program = match program.rsplit('/').next() {
        Some("env") => words.next().unwrap_or_default(),
        Some(name) => name,
        None => program,
    };
    SHELLS.contains(&program)
}
