#!/usr/bin/env bash
# Pilots in a real engine: each ends at a limit of the engine or in another way, with a task that ignores every signal
# it can, and no process of the task is alive when the service takes the job back. Needs root.
#
#   .ci/parts/engines/pilots.sh slurm|sge|htcondor PROGRAM FOLDER [ROUNDS]
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the service and what they write. In each round, several pilots
# run side by side, and each ends in another way. A round takes one to two minutes. Service and pilots run as OWNER
# (nobody): without root there are no control groups, so that nothing but tollgate ends the tasks.
set -euo pipefail
engine=$1 program=$2 rounds=${4:-1} owner=${OWNER:-nobody}
mkdir -p "$3"
folder=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# How the pilots of a round end:
#   limit      at the engine's limit of their time, which they do not know
#   warned     the same, after a signal that the engine sends before
#   notified   deleted, after such a signal
#   held, removed  by a condition of the job (HTCondor)
#   cancelled  deleted by the user
#   known      by themselves, before a limit that they know
#   killed     every process of their group at once
#   worker     the worker alone
case "$engine" in
  slurm) manners=(limit limit warned cancelled known killed worker) ;;
  sge) manners=(limit limit limit warned notified cancelled known killed worker) ;;
  htcondor) manners=(limit limit limit held removed cancelled known killed worker) ;;
  *) echo "$engine: expected slurm, sge or htcondor" >&2; exit 2 ;;
esac

prepare() {
  rm -rf "$folder/run"
  mkdir -p "$folder/run/bin" "$folder/run/data"
  chmod 755 "$folder" "$folder/run"
  cp "$program" "$folder/run/bin/tollgate"
  cp "$here/pilots.sh" "$folder/run"
  chmod 755 "$folder/run/pilots.sh"
  chmod 700 "$folder/run/data"
  printf 'policy = "fcfs"\n[local]\nnodes = 0\n[workers]\ngrace_s = 20.0\n' >"$folder/run/data/config.toml"
  cat >"$folder/run/task.sh" <<'TASK'
# Writes down its processes and those of earlier attempts that still run. Then it ignores what asks it to end, as does
# another process in a session of its own.
trap '' TERM INT USR1 USR2
for other in $(cat "pids-$TOLLGATE_JOB" 2>/dev/null); do
  grep -qs '^State:.[^Z]' "/proc/$other/status" && echo "$other" >>"beside-$TOLLGATE_JOB"
done
setsid sh -c 'echo $$; while :; do sleep 1; done' >>"pids-$TOLLGATE_JOB" &
echo $$ >>"pids-$TOLLGATE_JOB"
while :; do sleep 1; done
TASK
  SHARE=$folder/run NODES=2 CPUS=12 SLOTS=12 "$here/$engine.sh" up "$folder/$engine"
  trap '"$here/$engine.sh" down "$folder/$engine"' EXIT
  local enter=(setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups)
  case "$engine" in
    slurm) ;;
    sge)
      . "$folder/sge/env"
      # shellcheck disable=SC2206
      enter=($SGE_ENTER "${enter[@]}")
      ;;
    htcondor)
      . "$folder/htcondor/env"
      read -ra enter <<<"$CONDOR_ENTER"
      owner=$(chroot "$folder/htcondor/root" id -u tester)
      ;;
  esac
  chown -R "$owner" "$folder/run"
  "${enter[@]}" env PREPARED=yes "$folder/run/pilots.sh" "$engine" "$folder/run/bin/tollgate" "$folder" "$rounds"
}

# pilot MANNER NAME: submits a pilot that ends in this manner, and prints the id of its job.
pilot() {
  local manner=$1 name=$2 options=() lines=() flags=(--pilot)
  if [ "$manner" = known ]; then flags=(--pilot --until auto); fi
  cat >"$name.sh" <<JOB
#!/bin/sh
echo \$\$ >$name.pid
exec $folder/run/bin/tollgate worker --connect unix:$TOLLGATE_DATA/socket --data $folder/run/$name --name $name \
  --nodes 1 --root-jobs --account root --site $engine ${flags[*]}
JOB
  case "$engine" in
    slurm)
      # Slurm counts in minutes.
      if [ "$manner" = warned ]; then options=(--signal=B:USR1@20); fi
      sbatch --parsable --no-requeue --time=1 --job-name="$name" --output="$name.log" "${options[@]}" "$name.sh"
      ;;
    sge)
      case "$manner" in
        limit | known) options=(-l "h_rt=40") ;;
        warned) options=(-l "s_rt=40,h_rt=80") ;;
        notified) options=(-notify -l "h_rt=300") ;;
        *) options=(-l "h_rt=300") ;;
      esac
      qsub -terse -r n -wd "$folder/run" -N "p$name" -j y -o "$folder/run/$name.log" "${options[@]}" "$name.sh"
      ;;
    htcondor)
      case "$manner" in
        # It holds the job.
        limit) lines=("allowed_job_duration = 40") ;;
        held) lines=("periodic_hold = JobStatus == 2 && time() - EnteredCurrentStatus > 40") ;;
        removed) lines=("periodic_remove = JobStatus == 2 && time() - EnteredCurrentStatus > 40") ;;
        known) lines=("environment = \"TOLLGATE_UNTIL=$(($(date +%s) + 60))\"") ;;
        *) ;;
      esac
      printf '%s\n' "executable = $folder/run/$name.sh" "initialdir = $folder/run" "output = $name.log" \
        "error = $name.log" "should_transfer_files = NO" "request_cpus = 1" "request_memory = 100" "request_disk = 1" \
        "${lines[@]}" queue >"$name.submit"
      chmod 755 "$name.sh"
      condor_submit -terse "$name.submit" | sed 's/ .*//'
      ;;
  esac
}

delete() {
  case "$engine" in
    slurm) scancel "$1" ;;
    sge) qdel "$1" >/dev/null ;;
    htcondor) condor_rm "$1" >/dev/null ;;
  esac
}

# waits_for PROBLEM COMMAND..: until the command succeeds; fails after two minutes.
waits_for() {
  local problem=$1 end=$((SECONDS + 120))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "$problem" >&2; return 1; }
    sleep 0.2
  done
}
is_connected() { tollgate nodes | grep -q "$1 .*connected"; }
has_two_processes() { [ "$(cat "pids-$1" 2>/dev/null | wc -l)" = 2 ]; }
lives() { grep -qs '^State:.[^Z]' "/proc/$1/status"; }

run_rounds() {
  cd "$folder/run"
  export TOLLGATE_DATA=$folder/run/data PATH=$folder/run/bin:$PATH HOME=$folder/run
  case "$engine" in slurm | sge) . "$folder/$engine/env" ;; htcondor) ;; esac
  tollgate serve >service.log 2>&1 &
  service=$!
  trap 'kill "$service"; wait "$service" || true' EXIT
  until tollgate status >/dev/null 2>&1; do sleep 0.1; done
  local ended=0 alive=0 round
  for round in $(seq "$rounds"); do
    one_round
    echo "round $round: $ended pilots have ended, $alive with a task alive when its job was taken back"
  done
  [ "$alive" = 0 ] && ! ls beside-* 2>/dev/null
}

one_round() {
  local n name job pid left still running began=$SECONDS jobs=() pilots=()
  for n in "${!manners[@]}"; do
    name=$round-$n-${manners[n]}
    pilots+=("$(pilot "${manners[n]}" "$name")")
    waits_for "pilot $name did not join" is_connected "$name"
    job=$(tollgate submit --requeue --output none --format json -- sh task.sh | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
    jobs+=("$job")
    waits_for "job $job does not run" has_two_processes "$job"
  done
  for n in "${!manners[@]}"; do
    pid=$(cat "$round-$n-${manners[n]}.pid")
    case "${manners[n]}" in
      cancelled | notified) delete "${pilots[n]}" ;;
      # The whole process group, as Grid Engine does at its limits.
      killed) kill -KILL -- "-$(ps -o pgid= -p "$pid" | tr -d ' ')" ;;
      worker) kill -KILL "$pid" ;;
      limit | warned | known | held | removed) ;;
    esac
  done
  left=("${!manners[@]}")
  while [ ${#left[@]} -gt 0 ]; do
    [ $((SECONDS - began)) -lt 300 ] || { echo "round $round: pilots have not ended: ${left[*]}" >&2; return 1; }
    running=" $(tollgate jobs --state running --quiet | tr '\n' ' ') "
    still=()
    for n in "${left[@]}"; do
      job=${jobs[n]}
      if [[ $running = *" $job "* ]]; then
        still+=("$n")
        continue
      fi
      ended=$((ended + 1))
      for pid in $(cat "pids-$job"); do
        if lives "$pid"; then
          alive=$((alive + 1))
          echo "round $round, ${manners[n]}: process $pid of job $job is alive" >&2
        fi
      done
      echo "$round ${manners[n]} $((SECONDS - began))" >>ends
      tollgate cancel "$job" >/dev/null
      # HTCondor keeps a job that reached its limit, and would start one again whose processes were killed.
      if [ "$engine" = htcondor ]; then condor_rm "${pilots[n]}" >/dev/null 2>&1 || true; fi
    done
    left=("${still[@]}")
    sleep 0.1
  done
}

if [ -n "${PREPARED:-}" ]; then
  run_rounds
else
  prepare
fi
