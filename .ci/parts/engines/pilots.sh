#!/usr/bin/env bash
# Pilots in a real Slurm: each ends at its time limit or before, with a task that ignores SIGTERM, and no process of the
# task is alive when the service takes the job back. Needs root.
#
#   .ci/parts/engines/pilots.sh PROGRAM FOLDER [ROUNDS]
#
# PROGRAM is the built tollgate; FOLDER keeps the cluster, the service and what both write. In each round, six pilots run
# side by side, and each ends in another way. A round takes about two minutes. Service and pilots run as OWNER (nobody):
# without root there are no control groups, so that nothing but tollgate ends the tasks.
set -euo pipefail
program=$(realpath "$1") rounds=${3:-1} owner=${OWNER:-nobody}
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
manners=(limit limit warned cancelled known killed)

prepare_cluster() {
  rm -rf "$folder/run"
  mkdir -p "$folder/run/bin" "$folder/run/data"
  cp "$program" "$folder/run/bin/tollgate"
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
  chown -R "$owner" "$folder/run"
  NODES=2 CPUS=8 "$here/slurm.sh" up "$folder/slurm"
  trap '"$here/slurm.sh" down "$folder/slurm"' EXIT
}

# pilot MANNER NAME: submits a pilot that ends in this manner, and prints the id of its job.
pilot() {
  local options=() flags=(--pilot)
  case "$1" in
    limit | cancelled | killed) ;;
    warned) options=(--signal=B:USR1@20) ;;
    known) flags=(--pilot --until auto) ;;
  esac
  cat >"$2.sh" <<JOB
#!/bin/sh
echo \$\$ >$2.pid
exec tollgate worker --connect unix:$TOLLGATE_DATA/socket --data $folder/run/$2 --name $2 --nodes 1 \
  --root-jobs --account root --site slurm ${flags[*]}
JOB
  sbatch --parsable --no-requeue --time=1 --job-name="$2" --output="$2.log" "${options[@]}" "$2.sh"
}

state() {
  tollgate jobs --all --format json |
    python3 -c "import json, sys; print(next(job['state'] for job in json.load(sys.stdin)['jobs'] if job['id'] == $1))"
}
lives() { grep -qs '^State:.[^Z]' "/proc/$1/status"; }

run_rounds() {
  cd "$folder/run"
  export TOLLGATE_DATA=$folder/run/data PATH=$folder/run/bin:$PATH HOME=$folder/run
  . "$folder/slurm/env"
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
  local n name job pid pgid left still jobs=() pilots=()
  for n in "${!manners[@]}"; do
    name=$round-$n-${manners[n]}
    pilots+=("$(pilot "${manners[n]}" "$name")")
    until tollgate nodes | grep -q "$name .*connected"; do sleep 0.2; done
    job=$(tollgate submit --requeue --output none --format json -- sh task.sh |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
    jobs+=("$job")
    until [ "$(cat "pids-$job" 2>/dev/null | wc -l)" = 2 ]; do sleep 0.1; done
  done
  for n in "${!manners[@]}"; do
    case "${manners[n]}" in
      cancelled) scancel "${pilots[n]}" ;;
      killed)
        # The whole process group, as Grid Engine does at its limits.
        pgid=$(ps -o pgid= -p "$(cat "$round-$n-killed.pid")" | tr -d ' ')
        kill -KILL -- "-$pgid"
        ;;
      limit | warned | known) ;;
    esac
  done
  left=("${!manners[@]}")
  while [ ${#left[@]} -gt 0 ]; do
    still=()
    for n in "${left[@]}"; do
      job=${jobs[n]}
      if [ "$(state "$job")" = running ]; then
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
      tollgate cancel "$job" >/dev/null
    done
    left=("${still[@]}")
    sleep 0.1
  done
}

if [ "$(id -u)" = 0 ] && [ "$owner" != root ] && [ -z "${PREPARED:-}" ]; then
  prepare_cluster
  PREPARED=yes setpriv --reuid="$owner" --regid="$(id -g "$owner")" --clear-groups "$0" "$program" "$folder" "$rounds"
elif [ -n "${PREPARED:-}" ]; then
  run_rounds
else
  prepare_cluster
  (run_rounds)
fi
