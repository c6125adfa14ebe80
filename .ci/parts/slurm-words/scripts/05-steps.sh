#!/bin/bash
#SBATCH --ntasks=2
#SBATCH --output=steps.out
#SBATCH --time=0-00:05
for step in 1 2 3 4; do
  srun --ntasks=1 --nodes=1 --exclusive --output=step-$step.out sh -c "echo step $step; sleep 0.2" &
done
wait
srun hostname | sort -u | wc -l
