#!/bin/bash
#SBATCH --job-name=array_job
#SBATCH --array=1-4%2
#SBATCH --output=array_%A-%a.log
#SBATCH --mem-per-cpu=100M
PER_TASK=10
START=$(( (SLURM_ARRAY_TASK_ID - 1) * PER_TASK + 1 ))
END=$(( SLURM_ARRAY_TASK_ID * PER_TASK ))
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT runs $START to $END"
