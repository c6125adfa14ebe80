#!/usr/bin/env python3
#SBATCH --job-name=python
#SBATCH --output=python.out
#SBATCH --time=5
import os

print("job", os.environ["SLURM_JOB_NAME"], "with", os.environ.get("SLURM_JOB_CPUS_PER_NODE"), "processors")
