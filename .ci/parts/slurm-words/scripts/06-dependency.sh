#!/bin/bash
#SBATCH -o dependency.out
first=$(sbatch --parsable -o first.out --wrap 'echo first')
second=$(sbatch --parsable -o second.out --dependency=afterok:$first --wrap 'cat first.out; echo second')
echo "$first $second" >numbers
squeue -h -j "$second" -o '%T'
until [ -z "$(squeue -h -j "$first,$second")" ]; do sleep 0.5; done
sacct -X -n -P -j "$second" -o State
