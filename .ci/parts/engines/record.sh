#!/usr/bin/env bash
# Records what a real engine answers to the commands of its dialect, for the tests of crates/batch.
#
#   RUN="env .." .ci/parts/engines/record.sh slurm|sge|htcondor crates/batch/tests/answers/slurm
#
# RUN stands before every command, as in `setpriv --reuid=lab ..`. Each answer is a file: the command, its exit code, its
# standard output and its standard error. Names of hosts and users become `node` and `user`.
set -euo pipefail
engine=$1 out=$2
read -ra run <<<"${RUN:-env}"
mkdir -p "$out"
cd /

# record NAME [-i INPUT] COMMAND..: runs the command and keeps its answer.
record() {
  local name=$1 input= code=0
  shift
  if [ "$1" = -i ]; then input=$2; shift 2; fi
  printf '%b' "$input" | "${run[@]}" "$@" >"$out/.output" 2>"$out/.errors" || code=$?
  {
    printf '$ %s\nexit %s\n' "$*" "$code"
    printf -- '--- output\n'; anonymous "$out/.output"
    printf -- '--- errors\n'; anonymous "$out/.errors"
  } >"$out/$name.txt"
  rm "$out/.output" "$out/.errors"
}
anonymous() {
  local host user
  host=$(hostname) user=$("${run[@]}" id -un)
  sed -E "s/\b$host\b/node/g; s/\b$user\b/user/g; s/127\.0\.0\.1:[0-9]+/192.0.2.1:9618/g; s/\?addrs=[^> ]*/?addrs=../g" "$1"
}
# The id that an answer begins with.
id() { sed -n '/^--- output/{n;s/^\([0-9]*\).*/\1/p}' "$out/$1.txt"; }

nap='#!/bin/sh\nset -u\nsleep 60\n'
script='#!/bin/sh\ntrue\n'
neutral=(env TZ=UTC0 LC_ALL=C)

slurm() {
  local submit=(sbatch --parsable --no-requeue --export=NONE --nodes=1 --ntasks=1 --chdir=/ --output=/dev/null)
  local states=("${neutral[@]}" SLURM_TIME_FORMAT=standard squeue --noheader --me --states=all '--format=%A|%T|%V|%S|%e|%r|%j')
  local records=("${neutral[@]}" SLURM_TIME_FORMAT=standard sacct --noheader --parsable2 --allocations)
  record submit -i "$nap" "${submit[@]}" --job-name=tg.a.1 --cpus-per-task=2 --time=5 --mem=100M
  record submit-ended -i "$script" "${submit[@]}" --job-name=tg.a.2 --time=5
  record submit-waits -i "$nap" sbatch --parsable --job-name=tg.a.3 --nodes=4 --exclusive --time=5 --output=/dev/null
  record submit-held -i "$nap" "${submit[@]}" '--job-name=odd | name' --hold --time=5
  sleep 3
  record states "${states[@]}"
  record name-live "${states[@]}" --name=tg.a.1
  record name-unknown "${states[@]}" --name=tg.a.9
  record records-off "${records[@]}" --name=tg.a.2 --starttime=now-7days --format=JobIDRaw,State,Submit,Start,End,Reason,JobName
  record cancel scancel "$(id submit)" "$(id submit-waits)" "$(id submit-held)" 999999
  sleep 2
  record states-cancelled "${states[@]}"
  record limits "${neutral[@]}" sinfo --noheader '--format=%P|%l|%D|%c|%m|%L'
  record nodes "${neutral[@]}" sinfo --noheader --Node '--format=%N|%P|%c|%m|%t'
  record refused-partition -i "$script" "${submit[@]}" --partition=nosuch
  record refused-time -i "$script" "${submit[@]}" --partition=short --time=60
  record refused-memory -i "$script" "${submit[@]}" --mem=99999M
  record refused-cores -i "$script" "${submit[@]}" --cpus-per-task=99
  record refused-option -i "$script" "${submit[@]}" --nosuch
  record refused-script -i 'true\n' "${submit[@]}"
  record refused-node -i "$script" "${submit[@]}" --nodelist=nosuch
  sed 's/^SlurmctldPort=.*/SlurmctldPort=1/' "$SLURM_CONF" >/tmp/slurm-down.conf
  record down -i "$script" env SLURM_CONF=/tmp/slurm-down.conf "${submit[@]}"
  rm /tmp/slurm-down.conf
}

sge() {
  local submit=(qsub -terse -C '' -r n -wd / -j y -o /dev/null -S /bin/sh)
  local states=("${neutral[@]}" qstat -xml -u '$user')
  record submit -i "$nap" "${submit[@]}" -N tg.a.1 -l h_rt=300,mem_free=100M -pe smp 2
  record submit-ended -i "$script" "${submit[@]}" -N tg.a.2 -l h_rt=300
  record submit-error -i "$script" "${submit[@]}" -wd /nonexistent -N tg.a.3 -l h_rt=300
  record submit-held -i "$nap" "${submit[@]}" -h -N tg.a.4 -l h_rt=300
  record submit-directive -i '#!/bin/sh\n#$ -N another\nsleep 60\n' "${submit[@]}" -N tg.a.5 -l h_rt=300
  sleep 4
  record states "${states[@]}"
  record records "${neutral[@]}" qacct -j tg.a.2
  record records-unknown "${neutral[@]}" qacct -j tg.a.9
  record cancel qdel "$(id submit)" "$(id submit-ended)" "$(id submit-error)" "$(id submit-held)" "$(id submit-directive)" 999999
  sleep 3
  record states-empty "${states[@]}"
  record records-cancelled "${neutral[@]}" qacct -j tg.a.1
  record limits "${neutral[@]}" qconf -sq '*'
  record nodes "${neutral[@]}" qhost -q -xml
  record refused-queue -i "$script" "${submit[@]}" -q nosuch.q
  record refused-resource -i "$script" "${submit[@]}" -l nosuch=1
  record refused-environment -i "$script" "${submit[@]}" -pe nosuch 2
  record refused-project -i "$script" "${submit[@]}" -P nosuch
  record refused-option -i "$script" "${submit[@]}" -nosuch
  record refused-time -i "$script" "${submit[@]}" -w e -l h_rt=999:00:00
  record down env SGE_QMASTER_PORT=1 qstat -xml -u '$user'
  # A limit of one job a user, which only the administrator may set.
  local settings
  settings=$(mktemp -d)
  $SGE_RUN qconf -sconf global >"$settings/before"
  sed 's/^max_u_jobs.*/max_u_jobs 1/' "$settings/before" >"$settings/global"
  $SGE_RUN qconf -Mconf "$settings/global" >/dev/null
  record full-first -i "$nap" "${submit[@]}" -N tg.a.6 -l h_rt=300
  record refused-full -i "$nap" "${submit[@]}" -N tg.a.7 -l h_rt=300
  mv "$settings/before" "$settings/global"
  $SGE_RUN qconf -Mconf "$settings/global" >/dev/null
  record full-cancel qdel "$(id full-first)"
  rm -r "$settings" "$out"/full-*.txt
}

htcondor() {
  local job='universe = vanilla\nexecutable = /bin/sh\ntransfer_executable = false\nshould_transfer_files = NO\ninitialdir = /\n'
  job+='output = /dev/null\nerror = /dev/null\nrequest_memory = 100\n'
  local attributes=(-af ClusterId JobStatus QDate JobCurrentStartDate EnteredCurrentStatus TollgateName HoldReason)
  local states=("${neutral[@]}" condor_q -constraint 'TollgateName =!= undefined' "${attributes[@]}")
  record submit -i "${job}"'arguments = "-c '"'sleep 60'"'"\n+TollgateName = "tg.a.1"\nqueue 1\n' condor_submit -terse -
  record submit-ended -i "${job}"'arguments = "-c true"\n+TollgateName = "tg.a.2"\nqueue 1\n' condor_submit -terse -
  record submit-held -i "${job}"'arguments = "-c true"\nexecutable = /nonexistent\n+TollgateName = "tg.a.3"\nqueue 1\n' condor_submit -terse -
  record submit-waits -i "${job}"'arguments = "-c true"\nrequest_cpus = 900\n+TollgateName = "tg.a.4"\nqueue 1\n' condor_submit -terse -
  sleep 9
  record states "${states[@]}"
  record name-live "${neutral[@]}" condor_q -constraint 'TollgateName == "tg.a.1"' "${attributes[@]}"
  record name-unknown "${neutral[@]}" condor_q -constraint 'TollgateName == "tg.a.9"' "${attributes[@]}"
  record records "${neutral[@]}" condor_history -constraint 'TollgateName == "tg.a.2"' -limit 5 "${attributes[@]}"
  record records-unknown "${neutral[@]}" condor_history -constraint 'TollgateName == "tg.a.9"' -limit 5 "${attributes[@]}"
  record limits "${neutral[@]}" condor_status -constraint 'SlotType =!= "Dynamic"' -af Machine TotalSlotCpus TotalSlotMemory
  record cancel condor_rm "$(id submit)" "$(id submit-held)" "$(id submit-waits)"
  record cancel-unknown condor_rm 999999
  sleep 2
  record records-cancelled "${neutral[@]}" condor_history -constraint 'TollgateName == "tg.a.1"' -limit 5 "${attributes[@]}"
  record refused-line -i 'nonsense line\n' condor_submit -terse -
  record refused-folder -i "${job}"'initialdir = /nonexistent\nqueue 1\n' condor_submit -terse -
  record refused-option -i "${job}queue 1\n" condor_submit -terse - -nosuch
  local limit=$CONDOR_ROOT/etc/condor/config.d/99-limit.config
  echo 'MAX_JOBS_PER_OWNER = 0' >"$limit"
  $CONDOR_ROOTLY condor_reconfig >/dev/null
  sleep 2
  record refused-full -i "${job}queue 1\n" condor_submit -terse -
  rm "$limit"
  $CONDOR_ROOTLY condor_reconfig >/dev/null
  record down env _CONDOR_SCHEDD_HOST=nosuch condor_q
  record down-status env _CONDOR_COLLECTOR_HOST=192.0.2.1:1 _CONDOR_TOOL_TIMEOUT_MULTIPLIER=1 condor_status
}

case "$engine" in
  slurm | sge | htcondor) "$engine" ;;
  *) echo "$engine: expected slurm, sge or htcondor" >&2; exit 2 ;;
esac
