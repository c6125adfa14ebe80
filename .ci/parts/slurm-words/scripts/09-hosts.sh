#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --output=hosts.out
#SBATCH --account=proj-1 --qos=normal --comment="a comment"
for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
  echo "host $host has $SLURM_TASKS_PER_NODE tasks"
done
srun --label --cpu-bind=none sh -c 'echo "$SLURM_PROCID of $SLURM_NTASKS"' | sort
scontrol show job "$SLURM_JOB_ID" | grep -o 'Comment=.*'
