#!/usr/bin/env bash
# Pilots are expected by the jobs of another user, before one has started: a queue on a real engine that bert fills, and ann, whose
# service and keeper are a user's without rights, on a host with a name. `nodes` and `explain site` know when a pilot would come, a
# promise at submission counts on it, the pilot that waits is found in the queue, and the promise is kept. Needs root.
#
#   .ci/parts/engines/expected.sh slurm|slurmdbd|sge|htcondor PROGRAM FOLDER [SHIFT]
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the service and what they write. One site has the engine's commands here, the
# other one by way of a stand-in for ssh. With a SHIFT such as -600s, the clock of service and keeper is wrong by that time, and the
# engine is behind ssh alone; this needs faketime.
set -euo pipefail
engine=$1 kind=${1/slurmdbd/slurm} program=$(realpath "$2")
mkdir -p "$3"
folder=$(realpath "$3") shift_by=${4:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/named.sh"

clock=()
[ -z "$shift_by" ] || clock=("LD_PRELOAD=$(dpkg -L libfaketime | grep 'libfaketime\.so\.1$')" "FAKETIME=$shift_by")
tollgate() { as_ann env "${clock[@]}" tollgate "$@"; }

# waits_for PROBLEM COMMAND..: until the command succeeds; fails after two minutes.
waits_for() {
  local problem=$1 end=$((SECONDS + 120))
  shift
  until "$@" >/dev/null; do
    [ "$SECONDS" -lt "$end" ] || { echo "$problem" >&2; tollgate nodes >&2; tollgate explain site far >&2; tollgate site status far >&2; return 1; }
    sleep 0.5
  done
}

# other SECONDS [held]: a job of bert on two processors. One that is held never starts, and says nothing about the queue.
other() {
  local seconds=$1 held=${2:-}
  case "$engine" in
    slurm | slurmdbd) as_bert sbatch --ntasks=2 --time=5 --chdir=/tmp --output=/dev/null ${held:+--hold} --wrap "sleep $seconds" ;;
    sge) as_bert qsub -pe smp 2 -l h_rt=300 -wd /tmp -o /dev/null -j y ${held:+-h} -b y sleep "$seconds" ;;
    htcondor)
      printf '%s\n' 'executable = /bin/sleep' "arguments = $seconds" 'request_cpus = 2' 'request_memory = 10' 'allowed_execute_duration = 300' \
        'initialdir = /tmp' 'transfer_executable = false' "hold = ${held:+true}" queue | sed '/= $/d' >"$folder/home/other.sub"
      as_bert condor_submit "$folder/home/other.sub"
      ;;
  esac >/dev/null
}
# Two jobs run at once, and four more come every 40 s: as many as end.
others() {
  other 20 && other 20
  while sleep 5; do other 20 && other 20 && other 20 && other 20 && sleep 35; done
}

could_come() { tollgate nodes | grep "$1: 1 more pilot of 2 cores .* could be submitted: there by"; }
# While few jobs have started, little is promised.
is_promised() { tollgate submit --deadline 9m --otherwise reject --estimate 5s --output none -- sleep 1 | tee "$folder/promise"; }
is_expected() { tollgate nodes | grep -E '^(near|far)\.1: expected, 2 cores .* 1 case of 2, by .* 9 of 10'; }
# Its own job is one of those that were asked about.
is_in_outlook() { grep -A 1 '"pending": {$' "$folder"/home/.local/state/tollgate-sites/*/pilots.json | grep -E '"[0-9]+(\.0)?": \['; }

run() {
  # Four processors: two jobs of bert at once.
  case "$engine" in slurm*) CPUS=2 ;; *) CPUS=4 ;; esac
  # HTCondor would give a place of bert to jobs of bert for 20 minutes.
  export CPUS SLOTS=4 SETTINGS='CLAIM_WORKLIFE = 0'
  start_engine "$engine"
  cp "$program" "$folder/home/bin/tollgate"
  # `sbatch --export=NONE` makes a node read log-in files before each pilot, which takes minutes on some hosts of tests.
  printf '#!/bin/sh\nwhile :; do case "$1" in -T) shift;; -o) shift 2;; --) shift;; *) break;; esac; done\nshift\nexec env -u LD_PRELOAD -u FAKETIME sh -c "$*"\n' >"$folder/home/bin/ssh"
  chmod +x "$folder/home/bin/ssh"
  mkdir -p "$folder/home/.local/state/tollgate"
  printf 'policy = "plan"\n[local]\nnodes = 0\n' >"$folder/home/.local/state/tollgate/config.toml"
  chown -R $ann:$ann "$folder/home"
  cd "$folder/home"
  other 1 held
  others &
  sleep 45
  tollgate serve --detach --listen 0.0.0.0:8443
  [ -n "$shift_by" ] || tollgate site add near --engine "$kind" --cores 2 --time 10m --at-most 1 --ask-every 5s
  tollgate site add far --engine "$kind" --via login1 --program "$folder/home/bin/tollgate" --cores 2 --time 10m --at-most 1 --ask-every 5s
  tollgate site keep --detach --every 2s
  [ -n "$shift_by" ] || waits_for "no pilot could come near" could_come near
  waits_for "no pilot could come far" could_come far
  could_come far
  tollgate explain site far | grep 'the last jobs of all users'
  waits_for "nothing is promised" is_promised
  local job
  job=$(sed -n 's/^job \([0-9]*\): accepted.*/\1/p' "$folder/promise")
  grep 'counts on pilots that are not there yet' "$folder/promise"
  waits_for "no pilot that waits is expected" is_expected
  tollgate site status "$(is_expected | cut -d. -f1)" | tee "$folder/status"
  grep -q 'starts (9 in 10)' "$folder/status"
  waits_for "the job of the pilot is not found in the queue" is_in_outlook
  tollgate wait "$job"
  tollgate explain "$job" | grep 'promise kept'
  tollgate jobs --all --columns id,promise,counts_on_expected_hosts
}

# An engine that was ended with its namespace has jobs that never end.
[ -n "${NAMED_HOST:-}" ] || rm -rf "$folder"/{slurm,slurmdbd,sge,home,htcondor/root/var/spool/condor}
enter_named_host "$@"
run
echo "$engine, expected: all is well"
