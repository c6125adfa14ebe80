#!/bin/bash
#SBATCH -J threads
#SBATCH -N 1 -n 1 -c 2
#SBATCH --exclusive
#SBATCH -p compute,debug
#SBATCH -o threads.out -e threads.err
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
echo "threads $OMP_NUM_THREADS of $SLURM_CPUS_ON_NODE"
echo "on standard error" >&2
