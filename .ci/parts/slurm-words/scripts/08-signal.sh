#!/bin/bash
#SBATCH --time=0:06
#SBATCH --signal=B:USR1@4
#SBATCH --open-mode=append
#SBATCH --output=signal.out
#SBATCH --requeue
trap 'echo saved; exit 0' USR1
echo started
sleep 60 &
wait
