#!/usr/bin/env bash
# `tollgate serve --engine slurm` on a real Slurm: a promise that is kept, exit codes, a node that goes down and comes back, and
# TASKS (1000) attempts while the service and Slurm's controller are killed, of which none runs twice. Needs root.
#
#   .ci/parts/engines/attempts.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the service and what they write. TOLLGATE_KILLS (20): the number of kills.
set -euo pipefail
program=$(realpath "$1") tasks=${TASKS:-1000} kills=${TOLLGATE_KILLS:-20} seed=${TOLLGATE_SEED:-$((SRANDOM % 32768))}
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export NODES=4 CPUS=8 MEMORY=8000 PORT=${PORT:-7960}
listen=$((PORT + 20))
RANDOM=$seed
service= operator=

serve() {
  "$program" serve --engine slurm --partition main --policy "${1:-plan}" --listen "0.0.0.0:$listen" >>"$folder/run/serve.log" 2>&1 &
  service=$!
  for _ in $(seq 300); do "$program" status >/dev/null 2>&1 && return; sleep 0.2; done
  echo "the service does not answer" >&2
  return 1
}
end() {
  [ -z "$service" ] || kill "$service" 2>/dev/null || true
  [ -z "$operator" ] || kill "$operator" 2>/dev/null || true
  "$here/slurm.sh" down "$folder/slurm"
}
expect() { [ "$1" = "$2" ] || { echo "expected $2, got $1: $3" >&2; return 1; }; }
waits() { for _ in $(seq "$1"); do eval "$2" && return; sleep 1; done; echo "in vain: $2" >&2; return 1; }

rm -rf "$folder/run"
mkdir -p "$folder/run/bin"
cp "$program" "$folder/run/bin/tollgate"
program=$folder/run/bin/tollgate
export TOLLGATE_DATA=$folder/run/data
"$here/slurm.sh" up "$folder/slurm"
trap end EXIT
. "$folder/slurm/env"
cd "$folder/run"

echo "refused: a policy that shares cores, and a partition that does not exist"
code=0; "$program" serve --engine slurm --partition main --policy libra 2>refused || code=$?
expect "$code" 1 "$(cat refused)"
grep -q 'libra.*shares of processors' refused
code=0; "$program" serve --engine slurm --partition nosuch 2>refused || code=$?
expect "$code" 1 "$(cat refused)"
grep -q 'no queue `nosuch`: expected main, short' refused

echo "a promise, an exit code, a signal, a time limit"
serve
waits 60 '[ "$("$program" nodes | grep -c idle)" -ge 32 ]'
"$program" submit --estimate 20s --deadline +3m --quiet -- sh -c 'echo $TOLLGATE_HOST; sleep 1' >job
"$program" wait "$(cat job)"
"$program" explain "$(cat job)" | grep -E 'promise kept|host '
code=0; "$program" submit --estimate 20s --quiet -- sh -c 'exit 99' >job; "$program" wait "$(cat job)" || code=$?
expect "$code" 99 "Slurm and Grid Engine give this code a meaning of their own"
code=0; "$program" submit --estimate 2s --time-limit 2s --quiet -- sleep 600 >job; "$program" wait "$(cat job)" || code=$?
expect "$code" 124 "a time limit of 2 s"
code=0
"$program" submit --estimate 2m --time-limit 2m --signal USR1@115s --output none --quiet -- \
  sh -c 'trap "exit 7" USR1; while :; do sleep 0.1; done' >job
"$program" wait "$(cat job)" || code=$?
expect "$code" 7 "a signal before the limit"

echo "output by a pattern, which a second job appends to"
for text in first second; do
  "$program" submit --estimate 5s --name lines --output '%x-%u-%N.%%' --append --quiet -- echo "$text" >job
  "$program" wait "$(cat job)"
done
cat lines-*.% >written
expect "$(sort written | tr '\n' ' ')" "first second " "$(ls)"
code=0; "$program" submit --estimate 13h -- true 2>refused || code=$?
expect "$code" 2 "$(cat refused)"

echo "a job that submits a job"
(umask 077; "$program" token new >token)
key=$(sed -n 's/.*key=\(sha256:[0-9a-f]*\).*/\1/p' serve.log)
env -u TOLLGATE_DATA TOLLGATE_URL=https://$(uname -n):$listen TOLLGATE_FINGERPRINT=$key TOLLGATE_TOKEN_FILE=$PWD/token \
  "$program" submit --estimate 10s --quiet --output outer -- sh -c '"$0" submit --quiet --estimate 1s --output inner -- true >id && "$0" wait "$(cat id)"' "$program" >job
code=0; "$program" wait "$(cat job)" || code=$?
expect "$code" 0 "$(cat outer)"

echo "a job that slurm lets wait, because others use the nodes"
sbatch --quiet --partition main --nodes 4 --exclusive --output /dev/null --wrap 'sleep 45'
waits 30 '[ "$(squeue -h -t running | wc -l)" = 1 ]'
"$program" submit --estimate 2m --deadline +10m --quiet --output none -- sleep 3 >job
waits 60 '"$program" explain "$(cat job)" | grep -q "submitted to slurm at .*, which says Resources"'
"$program" jobs | grep -E "^ *$(cat job) .* submitted"
"$program" explain "$(cat job)" --format json | grep -q '"state": *"running"'
! "$program" explain "$(cat job)" --format json | grep -q started_at
"$program" wait "$(cat job)"
"$program" explain "$(cat job)" | grep 'promise kept'

echo "a node that goes down is drained, and resumed when it is up"
scontrol update nodename=n4 state=down reason=test
waits 60 '"$program" nodes | grep -q drain'
scontrol update nodename=n4 state=resume
waits 90 '! "$program" nodes | grep -q drain'

echo "$tasks attempts under $kills kills (TOLLGATE_SEED=$seed)"
"$program" submit --estimate 10s --array "1-$tasks" --output /dev/null --quiet -- \
  sh -c 'echo "$TOLLGATE_JOB.$TOLLGATE_TASK" >>"'"$folder/run"'/runs"; sleep 0.3' >job
began=$SECONDS done=0
# A controller that was killed gives the numbers of jobs that it forgot again, and drains the nodes that still know them. An operator
# resumes them.
(while sleep 3; do scontrol update 'nodename=n[1-4]' state=resume 2>/dev/null || true; done) &
operator=$!
while [ "$done" -lt "$kills" ]; do
  sleep "$((1 + RANDOM % 6)).$((RANDOM % 10))"
  case $((RANDOM % 3)) in
    0) kill -KILL "$(cat "$folder/slurm/run/controller.pid")" 2>/dev/null || true; sleep "$((RANDOM % 3))"; slurmctld || true ;;
    *) kill -KILL "$service"; wait "$service" 2>/dev/null || true; sleep "0.$((RANDOM % 10))"; serve ;;
  esac
  done=$((done + 1))
done
"$program" wait --quiet "$(cat job)" || true
echo "all are over after $((SECONDS - began)) s"
sort "$folder/run/runs" | uniq -d >twice
expect "$(wc -l <twice)" 0 "$(head -3 twice) ran twice"
echo "$(sort -u runs | wc -l) of $tasks tasks ran, none twice"
grep -c 'the batch system has lost a job' serve.log | sed 's/$/ jobs were forgotten by the killed controller, and submitted again/' || true
sleep 12
expect "$(squeue -h | wc -l)" 0 "jobs are left"
expect "$(find data/attempts/launches data/attempts/started -type f | wc -l)" 0 "files of attempts are left"
