#!/bin/bash
#SBATCH --job-name=serial_job_test    # Job name
#SBATCH --mail-type=END,FAIL          # Mail events (NONE, BEGIN, END, FAIL, ALL)
#SBATCH --mail-user=someone@example.org
#SBATCH --ntasks=1                    # Run on a single CPU
#SBATCH --mem=100mb                   # Job memory request
#SBATCH --time=00:05:00               # Time limit hrs:min:sec
#SBATCH --output=serial_%j.log        # Standard output and error log
pwd; hostname; date
echo "nodes $SLURM_JOB_NUM_NODES tasks $SLURM_NTASKS"
