#!/usr/bin/env bash
# Workflow systems submit to a real service as to PBS, Torque and Grid Engine, in pinned versions.
#
#   .ci/parts/workflows.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the Python environment and what the systems write.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/workflows" && pwd)

[ -x "$folder/venv/bin/snakemake" ] || {
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
}
rm -rf "$folder/run"
mkdir -p "$folder/run" "$folder/run/pbs" "$folder/run/sge"
cd "$folder/run"
export TOLLGATE_DATA=$folder/run/data
export PATH=$folder/run/bin:$folder/venv/bin:$PATH
mkdir bin && ln -s "$program" bin/tollgate
tollgate generate frontends --out pbs
tollgate generate frontends --out sge --style sge
tollgate serve >service.log 2>&1 &
service=$!
trap 'kill "$service"; wait "$service" || true' EXIT
until tollgate status >/dev/null 2>&1; do sleep 0.1; done

pbs() { PATH=$folder/run/pbs:$PATH "$@"; }
sge() { PATH=$folder/run/sge:$PATH "$@"; }

snake() {
  pbs snakemake --snakefile "$here/Snakefile" --directory "$1" --executor cluster-generic --jobs 4 --quiet \
    --cluster-generic-submit-cmd "qsub -l nodes=1:ppn={threads},walltime=0:05:00 -e logs -o logs" "${@:2}"
}

echo "== Snakemake, without a status command"
mkdir -p plain/logs && snake plain
[ "$(cat plain/sum.txt)" = 204 ]

echo "== Snakemake, with a status command, and a step that fails"
mkdir -p failing/logs
if snake failing --config failing=3 --keep-going --cluster-generic-status-cmd "$here/status.sh" \
  --cluster-generic-cancel-cmd qdel >failing.log 2>&1; then
  echo "the failure was not seen" >&2
  exit 1
fi
[ "$(ls failing/square-*.txt | wc -l)" = 7 ]

echo "== Parsl"
for name in torque pbspro; do pbs python "$here/parsl_providers.py" "$name"; done
sge python "$here/parsl_providers.py" gridengine

echo "== dask-jobqueue"
pbs python "$here/dask_clusters.py" pbs
sge python "$here/dask_clusters.py" sge

tollgate cancel --all
tollgate usage
