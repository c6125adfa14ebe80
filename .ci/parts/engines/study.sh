#!/usr/bin/env bash
# `tollgate study run --on` on a real engine: a small study in chunks, then the same with the waiting command and the engine
# killed. The results are those of a run on this host, byte by byte. Needs root, and installs the engine.
#
#   .ci/parts/engines/study.sh slurm|sge|htcondor PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the engine and the results. The command runs as OWNER (nobody).
set -euo pipefail
engine=$1 program=$(realpath "$2") owner=${OWNER:-nobody}
mkdir -p "$3"
folder=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=$folder/run-$engine

# Ports and a network of its own, beside a cluster that another test uses.
export PORT=7970 SPACE=tollgate-study SHARE=$folder
up() { "$here/$engine.sh" up "$folder/$engine"; }

# Kills what decides at the engine, starts it again, and leaves the jobs alone.
kill_engine() {
  local job
  case "$engine" in
    slurm)
      # A controller that is killed forgets the jobs that it has not written down.
      job=$(squeue --noheader --format=%j | sort -u)
      waits grep -qaF "$job" "$folder/slurm/state/job_state"
      kill -KILL "$(cat "$folder/slurm/run/controller.pid")"
      ;;
    sge) kill -KILL "$(cat "$folder/sge/master/qmaster.pid")" ;;
    htcondor) pkill -KILL -P "$(cat "$folder/htcondor/root/run/condor/master.pid")" -x condor_schedd ;;
  esac
  sleep 3
  up
}

# waits COMMAND..: until the command succeeds, for at most two minutes.
waits() {
  local end=$((SECONDS + 120))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || { echo "not within two minutes: $*" >&2; return 1; }
    sleep 0.1
  done
}

rm -rf "$run"
mkdir -p "$run/bin"
cp "$program" "$run/bin/tollgate"
chmod 755 "$folder" "$run" "$run/bin/tollgate"
up
trap '"$here/$engine.sh" down "$folder/$engine"' EXIT
enter=(setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups)
case "$engine" in
  slurm) . "$folder/slurm/env" ;;
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
chown -R "$owner" "$run"
# The process of a run is that of its subshell.
study() { exec "${enter[@]}" "$run/bin/tollgate" study run libra-risk-2006 --seeds 1 --scale 0.1 --out "$@"; }

cd "$run"
(study "$run/here" --quiet) >/dev/null
(study "$run/there" --on "$engine" --chunks 6 --time 10m --quiet) >/dev/null
cmp "$run/here/results.csv" "$run/there/results.csv"
echo "$engine: six chunks gave the same bytes"

(study "$run/killed" --on "$engine" --chunks 6 --time 10m) >/dev/null 2>"$run/first.log" &
process=$!
waits grep -q 'waiting for 6 chunks' "$run/first.log"
kill -KILL "$process"
wait "$process" || true
kill_engine
(study "$run/killed" --on "$engine" --chunks 6 --time 10m --resume) >/dev/null 2>"$run/second.log"
cat "$run/first.log" "$run/second.log"
cmp "$run/here/results.csv" "$run/killed/results.csv"
# One array was enough.
[ "$(cat "$run/first.log" "$run/second.log" | grep -c 'waiting for')" = 1 ]
echo "$engine: the same after the command and the engine were killed"
