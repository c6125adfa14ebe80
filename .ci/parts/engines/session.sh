#!/usr/bin/env bash
# A session on four sites at once: two Slurm clusters, a Grid Engine and an HTCondor, each reached over a real ssh. Starts it,
# keeps a promise on a pilot of each site, ends it, and looks at each engine for what is left. Needs root, and installs the engines.
#
#   .ci/parts/engines/session.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the engines and what they write. All parents of FOLDER must be root's own.
set -euo pipefail
program=$(realpath "$1") user=tester
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=$folder/run
. "$here/four.sh"

run() {
  cd "$home"
  export HOME=$home PATH=$home/bin:$PATH XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA=
  local began job site
  add_sites 1 10m
  began=$EPOCHREALTIME
  tollgate session start --name four --listen 127.0.0.1:18990 --detached
  echo "four sites, from the command to the prompt: $(seconds_since "$began")"
  . .local/state/tollgate-sessions/four/env
  for site in north south east west; do waits 120 "$site.1 .*connected" tollgate nodes; done
  tollgate session agents
  # As many jobs as pilots, each long enough that they run side by side.
  for site in 1 2 3 4; do
    job=$(tollgate submit --deadline 5m --estimate 10s --output none --format json -- sleep 3 | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
  done
  for job in 1 2 3 4; do
    tollgate wait "$job"
    tollgate explain "$job" | grep -E 'promise kept|host' | tee -a explained
  done
  [ "$(grep -c 'promise kept' explained)" = 4 ]
  for site in north south east west; do grep -q "host *$site.1" explained; done
  tollgate submit --estimate 100s --output none -- sleep 100
  began=$EPOCHREALTIME
  tollgate session exit four --force
  echo "to nothing left at four sites: $(seconds_since "$began")"
  [ -z "$(queues)" ] || { echo "jobs are left:" >&2; queues >&2; return 1; }
  [ -z "$(own_processes)" ] || { echo "processes are left:" >&2; own_processes >&2; return 1; }
}

# The processes of this user that run the program. One that has ended and is not reaped yet does not.
own_processes() { ps -u "$(id -u)" -o stat=,pid=,comm=,args= | awk '$1 !~ /^Z/ && $3 == "tollgate"'; }

if [ -n "${PREPARED:-}" ]; then
  run
else
  prepare "$here/session.sh"
  as_user "$here/session.sh" "$home/bin/tollgate" "$folder"
  echo "four sites: all is well"
fi
