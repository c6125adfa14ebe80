#!/bin/sh
# What Snakemake asks about a job: running, success or failed, from `sacct`.
state=$(sacct -j "$1" --format State --noheader | head -1 | awk '{print $1}')
case "$state" in
  COMPLETED) echo success ;;
  RUNNING | PENDING | COMPLETING | CONFIGURING | SUSPENDED | "") echo running ;;
  *) echo failed ;;
esac
