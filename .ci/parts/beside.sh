#!/usr/bin/env bash
# Statements beside a real batch system with records, under a load of four users: an answer within a second, a record that
# is replayed to the byte, probabilities that hold within four points by the engine's own records, and a controller that
# goes away. Needs root; Slurm needs a network of its own.
#
#   .ci/parts/beside.sh ENGINE PROGRAM FOLDER [JOBS]
#
# ENGINE is slurm, sge or htcondor. PROGRAM is the built tollgate; FOLDER keeps the record. JOBS (1800): about two a second.
# SEED (11) draws them. LEAST (1000): the fewest statements that are judged.
set -euo pipefail
engine=$1 program=$(realpath "$2") jobs=${4:-1800}
rm -rf "$3"
mkdir -p "$3"
folder=$(realpath "$3")
cd "$(dirname "${BASH_SOURCE[0]}")"
. engines/daemons.sh
# The functions of the engine; `reader` is the command behind which tollgate runs, as a user without rights where it can.
. "beside/$engine.sh"
users=(anna bert carl dora)
procs=64
made=()
follower='' load=''
cleanup() {
  local pid
  for pid in $follower $load; do kill "$pid" 2>/dev/null || true; done
  stop_engine || true
  for user in "${made[@]}"; do userdel "$user" || true; done
}
trap cleanup EXIT
for user in "${users[@]}"; do
  id "$user" >/dev/null 2>&1 || { useradd --no-create-home --shell /bin/sh "$user" && made+=("$user"); }
done
start_engine
mkdir -p "$folder/state" "$folder/record"
chown anna "$folder/state" "$folder/record"
state=$folder/state
tollgate() { "${reader[@]}" "$program" "$@"; }

echo "== a follower, and $jobs jobs"
"${reader[@]}" "$program" beside "$engine" --every 5s --state "$state" --record "$folder/record" \
  --listen 127.0.0.1:9180 --shadow plan,edf-bf 2>"$folder/follower.log" &
follower=$!
python3 beside/load.py "$engine" "$jobs" "${SEED:-11}" $procs "${users[@]}" >"$folder/load.log" &
load=$!
sleep 60

echo "== answers within a second"
answer() {
  local began took
  began=$(date +%s%N)
  tollgate eta --engine "$engine" --state "$state" "$@" >"$folder/answer"
  took=$((($(date +%s%N) - began) / 1000000))
  echo "$took ms: $*"
  [ "$took" -lt 1000 ]
}
answer -- "${submission[@]}"
waiting=$(first_waiting)
[ -z "$waiting" ] || answer "$waiting"

echo "== read paths"
get() {
  "${reader[@]}" python3 -c 'import sys, urllib.request as u; print(u.urlopen("http://127.0.0.1:9180" + sys.argv[1]).read().decode())' "$1"
}
get /metrics >"$folder/metrics"
grep -q '^tollgate_beside_waits_learned' "$folder/metrics"
get '/v1/jobs?live=true&expect=true' >"$folder/live.json"
get /v1/status >"$folder/status.json"
python3 - "$folder" $procs <<'PYTHON'
import json, sys
folder, procs = sys.argv[1], int(sys.argv[2])
status, live = (json.load(open(f"{folder}/{name}.json")) for name in ["status", "live"])
print(f"{status['running']} run, {status['queued']} wait, {status['nodes']} processors, {len(live['jobs'])} jobs")
# Jobs that end and start within a second seem to run at once, by at most one job.
assert status["nodes"] <= procs + 16, status
assert any("expected" in job for job in live["jobs"]), live
PYTHON

echo "== the controller goes away, and comes back"
wait "$load"
load=
stop_controller
waits 90 grep -q 'no answer, asking again' "$folder/follower.log"
sleep 5
start_controller
waits 300 grep -q 'answers again' "$folder/follower.log"

echo "== statements"
kill "$follower"
wait "$follower" || true
follower=
tollgate beside calibration --state "$state"
tollgate beside calibration --state "$state" --format json >"$folder/calibration.json"
python3 beside/judge.py "$folder/calibration.json" "${LEAST:-1000}" 0.04

echo "== the same statements, by the records of the engine"
ends >"$folder/ends"
cat "$folder"/record/*/statements | python3 beside/truth.py "$folder/ends" "$folder/calibration.json"

echo "== other policies on the same jobs"
tollgate beside calibration --state "$state" >"$folder/shadow"
grep -A 12 'Other policies' "$folder/shadow"
tollgate beside replay "$folder/record" --shadow plan,edf-bf

echo "== the same statements again"
for run in "$folder"/record/*; do
  tollgate beside replay "$run" | cmp - "$run/statements"
done
count_requests
