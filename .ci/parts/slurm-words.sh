#!/usr/bin/env bash
# Workflow systems and scripts submit to a real service as to Slurm, in pinned versions; then the same command lines are
# typed at tollgate's commands and at a real Slurm, whose exit codes and first lines must agree.
#
#   .ci/parts/slurm-words.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the Python environment and what the systems write. The comparison needs root.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/slurm-words" && pwd)

[ -e "$folder/venv/complete" ] || {
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
  touch "$folder/venv/complete"
}
rm -rf "$folder/run"
mkdir -p "$folder/run"
cd "$folder/run"
system_path=$PATH
export TOLLGATE_DATA=$folder/run/data PYTHONPATH=$here
# The tools of a real Slurm stand behind these.
export PATH=$folder/run/bin:$folder/venv/bin:$PATH
mkdir bin
ln -s "$program" bin/tollgate
tollgate generate frontends --style slurm --out bin
tollgate serve >service.log 2>&1 &
service=$!
trap 'kill "$service"; wait "$service" || true' EXIT
until tollgate status >/dev/null 2>&1; do sleep 0.1; done

slurm_snake() {
  # In the background the number of the process is that of Snakemake itself, which does not ignore SIGINT even if this script
  # does, as in the background of a shell without job control.
  ${replace:+exec env --default-signal=INT} snakemake --snakefile "$here/Snakefile" --directory "$1" --executor slurm --jobs 4 --quiet --latency-wait 3 \
    --slurm-init-seconds-before-status-checks 3 --default-resources slurm_account=lab slurm_partition=main "${@:2}"
}

echo "== Snakemake, by its plugin for Slurm"
slurm_snake plain
[ "$(cat plain/square-*.txt | tr '\n' ' ')" = "1 4 9 16 " ]

echo "== Snakemake, with arrays"
slurm_snake arrays --slurm-array-jobs square
[ "$(cat arrays/square-*.txt | tr '\n' ' ')" = "1 4 9 16 " ]

echo "== Snakemake, with a rule that fails"
if slurm_snake failing --config failing=3 --keep-going >failing.log 2>&1; then
  echo "the failure was not seen" >&2
  exit 1
fi
[ "$(cat failing/square-*.txt | tr '\n' ' ')" = "1 4 16 " ]

echo "== Snakemake, interrupted: no job is left"
mkdir interrupted
replace=yes slurm_snake interrupted --config sleep=300 >interrupted.log 2>&1 &
snake=$!
until [ -n "$(squeue -h)" ]; do sleep 0.5; done
kill -INT "$snake"
wait "$snake" || true
until [ -z "$(squeue -h)" ]; do sleep 0.5; done

echo "== Snakemake, by cluster-generic"
mkdir -p generic/logs
snakemake --snakefile "$here/Snakefile" --directory generic --executor cluster-generic --jobs 4 --quiet \
  --cluster-generic-submit-cmd "sbatch --partition=main --qos=normal --cpus-per-task={threads} --mem={resources.mem_mb} --job-name=smk-{rule} --output=logs/{rule}-%j.out --parsable" \
  --cluster-generic-status-cmd "$here/status-sacct.sh" --cluster-generic-cancel-cmd scancel
[ "$(cat generic/square-*.txt | tr '\n' ' ')" = "1 4 9 16 " ]

echo "== submitit, Parsl, dask-jobqueue, simple_slurm, cluster_tools, toil"
for script in submitit_jobs parsl_slurm dask_slurm simple_slurm_jobs cluster_tools_jobs; do
  python "$here/$script.py" 2>"$script.log" || { tail -20 "$script.log" >&2; exit 1; }
done
python "$here/toil_workflow.py" file:toil-store --batchSystem slurm --disableCaching --maxMemory 2G \
  --defaultMemory 200M --defaultDisk 100M --slurmTime 0:05:00 --slurmPartition main 2>toil.log || { tail -20 toil.log >&2; exit 1; }

echo "== scripts"
for script in "$here"/scripts/*.sh; do
  name=$(basename "$script" .sh)
  mkdir "script-$name"
  (cd "script-$name" && sbatch --wait --parsable "$script" >number && "$here/check_script.sh" "$name")
done

echo "== reportseff, over all of it"
reportseff --user "$(id -un)" --since d=1 --no-color >reportseff.txt
[ "$(grep -c COMPLETED reportseff.txt)" -ge 20 ]
tail -n 3 reportseff.txt

echo "== the same command lines at a real Slurm"
if [ "$(id -u)" != 0 ]; then
  echo "not compared: it needs root"
else
  "$here/compare.sh" "$folder/run/bin" "$folder/slurm" "$system_path"
fi
tollgate usage
