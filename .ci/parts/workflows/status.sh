#!/bin/sh
# What Snakemake asks about a job: running, success or failed, from `qstat -f -x` (XML).
found=$(qstat -f -x "$1") || { echo failed; exit 0; }
case "$found" in
  *"<exit_status>0<"*) echo success ;;
  *"<exit_status>"*) echo failed ;;
  *) echo running ;;
esac
