#!/bin/bash
#SBATCH --output=scratch.out
#SBATCH --export=ALL,FLAVOUR=sweet
set -euo pipefail
scratch=$TMPDIR/scratch-$SLURM_JOB_ID
mkdir "$scratch"
trap 'rm -r "$scratch"' EXIT
cd "$scratch"
echo "$FLAVOUR" >data
cp data "$SLURM_SUBMIT_DIR/"
echo "copied to $(basename "$SLURM_SUBMIT_DIR")"
