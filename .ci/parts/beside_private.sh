#!/usr/bin/env bash
# Beside a real Slurm that hides jobs (PrivateData=jobs), in another time zone, and with a clock of this host that is wrong.
# Needs root, and a network of its own. A wrong clock needs the package faketime; without it that step says so.
#
#   .ci/parts/beside_private.sh PROGRAM FOLDER
set -euo pipefail
program=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"
. engines/daemons.sh
users=(anna bert)
made=()
cleanup() {
  engines/slurmdbd.sh down "$folder/slurm" || true
  for user in "${made[@]}"; do userdel "$user" || true; done
}
trap cleanup EXIT
for user in "${users[@]}"; do
  id "$user" >/dev/null 2>&1 || { useradd --no-create-home --shell /bin/sh "$user" && made+=("$user"); }
done
export NODES=2 CPUS=4 MEMORY=2000 SETTINGS=PrivateData=jobs,usage
engines/slurmdbd.sh up "$folder/slurm"
. "$folder/slurm/env"
submit() {
  sbatch --parsable --uid="$1" --ntasks="$2" --time=5 --mem-per-cpu=1M --chdir=/tmp --output=/dev/null --wrap="sleep $3"
}
for _ in $(seq 12); do submit anna 2 1 >/dev/null && submit bert 4 1 >/dev/null; done
waits 120 eval '[ -z "$(squeue --noheader)" ]'
submit bert 8 60 >/dev/null
hidden=$(submit bert 2 1)
own=$(submit anna 2 1)
waits 30 eval '[ "$(squeue --noheader --states=RUNNING | wc -l)" = 1 ]'
sleep 5

as_anna() {
  setpriv --reuid=anna --regid=anna --clear-groups env HOME="$folder/anna" SLURM_CONF="$SLURM_CONF" "$@"
}
mkdir "$folder/anna" && chown anna "$folder/anna"

echo "== a user whose site hides the jobs of others"
as_anna "$program" eta --format json "$own" >"$folder/answer" 2>"$folder/notes"
grep -q 'the site shows users their own jobs alone' "$folder/notes"
python3 - "$folder/answer" <<'PYTHON'
import json, sys
answer = json.load(open(sys.argv[1]))
# The accounting may show all jobs: nothing is learned from those of others.
assert answer["waits_learned"] == 12, answer["waits_learned"]
assert answer["is_guess"], answer
assert answer["jobs"][0]["around"]["waiting"] == 1, answer["jobs"][0]["around"]
PYTHON
if as_anna "$program" eta "$hidden" 2>"$folder/notes"; then exit 1; fi
grep -q 'no such job' "$folder/notes"

echo "== an operator sees all jobs"
HOME="$folder" "$program" eta --format json "$hidden" >"$folder/answer" 2>"$folder/notes"
if grep -q 'own jobs alone' "$folder/notes"; then exit 1; fi
python3 - "$folder/answer" <<'PYTHON'
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["waits_learned"] == 25, answer["waits_learned"]
assert answer["jobs"][0]["around"]["waiting"] == 2, answer["jobs"][0]["around"]
PYTHON

echo "== another time zone"
submitted=$(TZ=UTC0 squeue --noheader --jobs="$own" --Format=SubmitTime:20 | tr -d ' ')
for zone in UTC Asia/Tokyo America/New_York; do
  rm -rf "$folder/anna/.cache"
  TZ=$zone as_anna "$program" eta --quiet --format json "$own" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"][0]["queued_at"])' >"$folder/queued"
  echo "$zone: $(cat "$folder/queued"), Slurm: $submitted"
  grep -q "^$submitted" "$folder/queued"
done

echo "== a clock that is wrong"
if command -v faketime >/dev/null; then
  for shift in -600 +600; do
    rm -rf "$folder/anna/.cache"
    as_anna faketime -f "${shift}s" "$program" eta --format json "$own" >"$folder/answer" 2>"$folder/notes"
    grep 'the clock of Slurm is' "$folder/notes"
    python3 - "$folder/answer" <<'PYTHON'
import datetime, json, sys, time
# The answer is in the time of the controller, which is that of this process.
job = json.load(open(sys.argv[1]))["jobs"][0]
at = datetime.datetime.fromisoformat(job["at"].replace("Z", "+00:00")).timestamp()
assert abs(at - time.time()) < 5, job["at"]
PYTHON
  done
else
  echo "not tried: faketime is not installed"
fi
