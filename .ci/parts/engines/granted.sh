#!/usr/bin/env bash
# What pilots offer is what a real engine gave them: memory, whole nodes, and, where a time limit can be changed while a job runs, the
# limit that they have by now, a shorter and a longer one. A user with a name, as in .ci/parts/engines/typed.sh. Needs root.
#
#   .ci/parts/engines/granted.sh slurm|sge|htcondor PROGRAM FOLDER
#
# PROGRAM is the built tollgate. Grid Engine and HTCondor keep the limit with which a job started, whatever `qalter` and `condor_qedit`
# say; that is checked, too.
set -euo pipefail
engine=$1 program=$(realpath "$2")
mkdir -p "$3"
folder=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/named.sh"

tollgate() { as_ann tollgate "$@"; }

# waits_for PROBLEM COMMAND..: until the command succeeds; fails after three minutes.
waits_for() {
  local problem=$1 end=$((SECONDS + 180))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "$problem" >&2; tollgate nodes >&2; tollgate site status "$site" >&2; return 1; }
    sleep 0.5
  done
}

# offer WORKER: its cores and the MiB that it offers on all of them, while it is connected.
offer() {
  tollgate nodes --format json | python3 -c '
import json, sys
for worker in json.load(sys.stdin)["workers"]:
    if worker["name"] == sys.argv[1] and worker["state"] == "connected":
        print(worker["nodes"], worker["nodes"] * worker.get("memory_per_node_bytes", 0) >> 20)' "$1"
}
is_connected() { [ -n "$(offer "$1")" ]; }
no_pilots() { tollgate site status "$site" | grep -Eq ' 0 pending, 0 running(;|$)'; }

# offers SITE CORES MEBIBYTES OPTION..: a pilot of a site with these options offers this. MEBIBYTES: `-` for those of the host.
offers() {
  site=$1
  local cores=$2 memory=$3 found
  tollgate site add "$site" --engine "$engine" --time 10m "${@:4}"
  tollgate site scale "$site" 1
  waits_for "the pilot of $site does not join" is_connected "$site.1"
  found=$(offer "$site.1")
  echo "$site: cores and MiB $found"
  [ "$memory" != - ] || memory=$(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) / 1024))
  # The memory is shared out to the cores in whole bytes.
  [ "$found" = "$cores $memory" ] || [ "$found" = "$cores $((memory - 1))" ]
  if [ "$site" = small ]; then
    job_fits 200
    if job_fits 4000; then return 1; fi
  fi
  tollgate site scale "$site" 0
  waits_for "the pilot of $site does not end" no_pilots
  tollgate site remove "$site"
}
job_fits() { tollgate submit --mem "$1M" --deadline 5m --otherwise reject --estimate 5s --output none -- true; }

# The job of the pilot at the engine.
pilot_job() { tollgate site status "$site" --cached --format json | sed -n 's/^ *"id": \([0-9]*\).*/\1/p' | tail -1; }

move_limit() {
  case "$engine" in
    slurm) scontrol update "JobId=$(pilot_job)" "TimeLimit=$1" ;;
    sge) as_ann qalter -l "h_rt=$(($1 * 60))" "$(pilot_job)" ;;
    htcondor) as_ann condor_qedit "$(pilot_job)" AllowedExecuteDuration "$(($1 * 60))" ;;
  esac
}
# The end of the pilot as the service has it, in seconds since 1970.
end_of_pilot() { date -d "$(tollgate nodes --format json | sed -n 's/^ *"until": "\(.*\)".*/\1/p' | tail -1)" +%s; }
ends_before() { [ "$(end_of_pilot)" -lt "$1" ]; }
ends_after() { [ "$(end_of_pilot)" -gt "$1" ]; }
has_ended() { tollgate site status "$site" --cached | grep -q 'pilot [0-9]* ended'; }
attempts() { tollgate jobs "$1" --format json | sed -n 's/^ *"attempts": \([0-9]*\).*/\1/p'; }

# A limit that is changed under a pilot: the service plans with it, and the pilot leaves by itself before it.
limits_that_move() {
  site=north
  tollgate site add north --engine "$engine" --time 2m --ask-every 5s
  tollgate site scale north 1
  waits_for "the pilot does not join" is_connected north.1
  tollgate site keep --detach --every 2s
  local first began
  began=$(date +%s) first=$(end_of_pilot)
  if [ "$engine" != slurm ]; then
    move_limit 10
    sleep 15
    [ "$(end_of_pilot)" = "$first" ]
    return
  fi
  # A promise for more than the pilot's time is refused, and made once it has more.
  if tollgate submit --deadline 9m --otherwise reject --estimate 8m --output none -- sleep 130; then return 1; fi
  move_limit 20
  waits_for "the longer limit is not seen" ends_after $((first + 300))
  long=$(tollgate submit --deadline 8m --estimate 150s --requeue --output none --format json -- sleep 130 | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
  tollgate wait "$long"
  tollgate explain "$long" | grep 'promise kept'
  [ "$(date +%s)" -gt "$first" ]
  # Slurm counts minutes from the start of the job.
  local minutes=$((($(date +%s) - began) / 60 + 2))
  task=$(tollgate submit --requeue --estimate 3m --output none --format json -- sleep 1000 | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
  move_limit "$minutes"
  waits_for "the shorter limit is not seen" ends_before $((began + minutes * 60 + 5))
  if tollgate submit --deadline 9m --otherwise reject --estimate 8m --output none -- true; then return 1; fi
  waits_for "the pilot does not leave" has_ended
  tollgate site status north --cached | tee "$folder/left"
  if grep -Eq 'TIMEOUT|CANCELLED' "$folder/left"; then return 1; fi
  tollgate jobs "$task" | tee "$folder/task"
  grep -Eq ' (queued|running)' "$folder/task"
}

run() {
  # A pilot offers no more cores than its host has.
  export CPUS=2 SLOTS=2
  start_engine "$engine"
  [ "$engine" != slurm ] || export "${variables[@]}"
  cp "$program" "$folder/home/bin/tollgate"
  mkdir -p "$folder/home/.local/state/tollgate"
  printf 'policy = "plan"\n[local]\nnodes = 0\n' >"$folder/home/.local/state/tollgate/config.toml"
  chown -R $ann:$ann "$folder/home"
  cd "$folder/home"
  tollgate serve --detach --listen 0.0.0.0:8443
  case "$engine" in
    slurm)
      offers default 2 1000 --cores 2
      offers small 2 600 --cores 2 --memory 600M
      offers whole 2 2000 --cores all
      ;;
    sge)
      offers small 2 2000 --cores 2 -- -l h_vmem=1000M
      offers whole 2 - --cores all
      ;;
    htcondor)
      offers small 2 600 --cores 2 --memory 600M
      offers whole 2 8000 --cores all
      ;;
  esac
  limits_that_move
}

enter_named_host "$@"
run
echo "$engine, granted: all is well"
