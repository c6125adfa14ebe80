#!/usr/bin/env bash
# The conformance suite of engines on a node of a real batch system. Needs root, and installs the engine.
#
#   .ci/parts/engines/conformance.sh slurm|sge|htcondor TEST ATTEMPT FOLDER
#
# TEST is the built test program of tollgate-batch-engine, ATTEMPT the program tollgate-attempt; FOLDER keeps the engine and the
# attempts.
set -euo pipefail
engine=$1
mkdir -p "$4"
folder=$(realpath "$4")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=$folder/run-$engine
rm -rf "$run"
mkdir -p "$run/work"
cp "$2" "$run/test"
cp "$3" "$run/attempt"
chmod 755 "$folder" "$run" "$run/test" "$run/attempt"
chmod 1777 "$run/work"
export PORT=7940 SHARE=$run
"$here/$engine.sh" up "$folder/$engine"
trap '"$here/$engine.sh" down "$folder/$engine"' EXIT
enter=() queue=
. "$folder/$engine/env"
case "$engine" in
  slurm) queue=main ;;
  sge)
    queue=all.q
    # shellcheck disable=SC2206
    enter=($SGE_ENTER)
    ;;
  # Jobs of a pool have no queue.
  htcondor) read -ra enter <<<"$CONDOR_ENTER" ;;
esac
"${enter[@]}" env "TOLLGATE_CONFORMANCE_ENGINE=$engine" ${queue:+"TOLLGATE_CONFORMANCE_QUEUE=$queue"} \
  "TOLLGATE_CONFORMANCE_FOLDER=$run/work/attempts" "TOLLGATE_CONFORMANCE_ATTEMPT=$run/attempt" \
  TOLLGATE_REQUIRE=batch-system "$run/test" real
