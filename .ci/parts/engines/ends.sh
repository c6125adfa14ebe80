#!/usr/bin/env bash
# Pilots that a real Slurm ends without a warning, each while it runs a task that dies of the first signal: preempted by another
# partition, at a time limit that was shortened behind their backs, cancelled by somebody else. Every task has to go back to the
# queue, and none may count as ended by itself; without `--requeue`, every one is lost. A user with a name, as in
# .ci/parts/engines/typed.sh. Needs root.
#
#   .ci/parts/engines/ends.sh PROGRAM FOLDER [ROUNDS [MANNER..]]
#
# PROGRAM is the built tollgate. In each of the ROUNDS (1), PILOTS (10) pilots end in each MANNER: preempted, cancelled, limit.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2") rounds=${3:-1} pilots=${PILOTS:-10}
manners=("${@:4}")
[ ${#manners[@]} -gt 0 ] || manners=(preempted cancelled limit)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/named.sh"

settings="PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=600 State=UP
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP"

# waits_for PROBLEM COMMAND..: until the command succeeds; fails after two minutes.
waits_for() {
  local problem=$1 end=$((SECONDS + 120))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "$problem" >&2; as_ann tollgate jobs >&2; as_ann tollgate site status north >&2; return 1; }
    sleep 0.5
  done
}
tasks() { as_ann tollgate jobs --format json | tr -d ' ",' | awk -F: -v key="$1" '$1 == key { n += $2 } END { print n + 0 }'; }
all_run() { [ "$(tasks running)" = "$pilots" ]; }
none_runs() { [ "$(tasks running)" = 0 ]; }
pilots_of() { as_ann squeue --noheader --me --partition=low --states=RUNNING --format=%A; }
no_pilots() { [ -z "$(as_ann squeue --noheader --me --partition=low --format=%A)" ]; }

# end_pilots MANNER: ends all pilots that run.
end_pilots() {
  local job
  case "$1" in
    preempted) as_ann sbatch --partition=high --nodes=2 --exclusive --time=1 --output=/dev/null --wrap 'sleep 2' >/dev/null ;;
    cancelled) scancel $(pilots_of) ;;
    limit) for job in $(pilots_of); do scontrol update "JobId=$job" TimeLimit=1; done ;;
  esac
}

one_round() {
  as_ann tollgate site scale north "$pilots" >/dev/null
  waits_for "not all tasks run" all_run
  # At the limit, the minute counts from the start of the pilots.
  end_pilots "$1"
  waits_for "tasks still run" none_runs
  waits_for "pilots are left" no_pilots
  # What is held back for a while is there by now.
  sleep 6
  ended=$((ended + pilots)) lost=$(tasks lost) finished=$(tasks finished)
  as_ann tollgate site status north >"$folder/status-$1"
}

run() {
  PORT=7940 NODES=2 CPUS=$(((pilots + 1) / 2)) MEMORY=8000 SETTINGS=$settings "$here/slurm.sh" up "$folder/slurm"
  export SLURM_CONF=$folder/slurm/slurm.conf
  variables=("SLURM_CONF=$SLURM_CONF")
  cp "$program" "$folder/home/bin/tollgate"
  mkdir -p "$folder/home/.local/state/tollgate"
  printf 'policy = "fcfs"\n[local]\nnodes = 0\n' >"$folder/home/.local/state/tollgate/config.toml"
  chown -R $ann:$ann "$folder/home"
  cd "$folder/home"
  as_ann tollgate serve --detach --listen 0.0.0.0:8443
  as_ann tollgate site add north --engine slurm --time 30m --ask-every 1s -- --partition low
  as_ann tollgate submit --requeue --array "1-$pilots" --estimate 10m --output none -- sleep 1200
  local manner round ended lost finished
  for manner in "${manners[@]}"; do
    ended=0 lost=0 finished=0
    for round in $(seq "$rounds"); do one_round "$manner"; done
    echo "$manner: $ended pilots ended, $lost tasks lost, $finished counted as ended by themselves"
    grep -E ' ended' "$folder/status-$manner" | tail -1
    [ "$lost" = 0 ] && [ "$finished" = 0 ]
  done
}

# Tasks that may not run again: each is lost, whatever its pilot ended by, and nothing says that it failed by itself.
run_without_requeue() {
  as_ann tollgate cancel 1
  as_ann tollgate submit --array "1-$pilots" --estimate 10m --output none -- sleep 1200
  as_ann tollgate site scale north "$pilots" >/dev/null
  waits_for "not all tasks run" all_run
  end_pilots cancelled
  waits_for "tasks still run" none_runs
  sleep 6
  as_ann tollgate jobs 2 | tee "$folder/lost"
  [ "$(grep -c ' lost' "$folder/lost")" = "$pilots" ]
  echo "without --requeue: $pilots tasks of cancelled pilots are lost"
}

enter_named_host "$@"
run
run_without_requeue
echo "ends of pilots: all is well"
