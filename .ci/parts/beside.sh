#!/usr/bin/env bash
# Statements beside a real Slurm with accounting, under a load of four users: an answer within a second, a record that is
# replayed to the byte, probabilities that hold within four points, and a controller that goes away. Needs root and a
# network of its own.
#
#   .ci/parts/beside.sh PROGRAM FOLDER [JOBS]
#
# PROGRAM is the built tollgate; FOLDER keeps the record. JOBS (1800): about two a second. SEED (11) draws them.
set -euo pipefail
program=$(realpath "$1") jobs=${3:-1800}
rm -rf "$2"
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"
. engines/daemons.sh
users=(anna bert carl dora)
export NODES=4 CPUS=16 MEMORY=4000
made=()
cleanup() {
  [ -z "${follower:-}" ] || kill "$follower" 2>/dev/null || true
  [ -z "${load:-}" ] || kill "$load" 2>/dev/null || true
  engines/slurmdbd.sh down "$folder/slurm"
  for user in "${made[@]}"; do userdel "$user"; done
}
trap cleanup EXIT
for user in "${users[@]}"; do
  id "$user" >/dev/null 2>&1 || { useradd --no-create-home --shell /bin/sh "$user" && made+=("$user"); }
done
engines/slurmdbd.sh up "$folder/slurm"
. "$folder/slurm/env"
state=$folder/state

echo "== a follower, and $jobs jobs"
"$program" beside slurm --every 5s --state "$state" --record "$folder/record" 2>"$folder/follower.log" &
follower=$!
python3 beside/load.py "$jobs" "${SEED:-11}" $((NODES * CPUS)) "${users[@]}" >"$folder/load.log" &
load=$!
sleep 60

echo "== answers within a second"
answer() {
  local began took
  began=$(date +%s%N)
  "$program" eta --state "$state" "$@" >"$folder/answer"
  took=$((($(date +%s%N) - began) / 1000000))
  echo "$took ms: $*"
  [ "$took" -lt 1000 ]
}
answer -- sbatch -n 16 -t 5 --wrap 'sleep 1'
waiting=$(squeue --noheader --states=PENDING --format=%A | sed -n 1p)
[ -z "$waiting" ] || answer "$waiting"

echo "== the controller goes away, and comes back"
wait "$load"
load=
kill "$(cat "$folder/slurm/run/controller.pid")"
waits 90 grep -q 'no answer, asking again' "$folder/follower.log"
sleep 5
slurmctld
waits 300 grep -q 'the controller answers again' "$folder/follower.log"

echo "== statements"
kill "$follower"
wait "$follower" || true
follower=
"$program" beside calibration --state "$state"
"$program" beside calibration --state "$state" --format json >"$folder/calibration.json"
python3 beside/judge.py "$folder/calibration.json" 1000 0.04

echo "== the same statements again"
for run in "$folder"/record/*; do
  "$program" beside replay "$run" | cmp - "$run/statements"
done
echo "== requests as Slurm counts them"
sdiag | grep -A 12 'statistics by message type'
