#!/usr/bin/env bash
# How often a keeper asks a real Slurm: requests a minute, as `sdiag` counts them for the user, over MINUTES (5) in which nothing
# happens, and over one in which a pilot and tasks wait. Fails if it asks more than 6 times a minute while idle. Needs root.
#
#   .ci/parts/engines/idle_requests.sh PROGRAM FOLDER [MINUTES]
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the service and what they write.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2") minutes=${3:-5}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/named.sh"

# All requests of ann so far.
requests() { as_ann sdiag | awk '/statistics by user/ { of_users = 1 } of_users && $1 == "ann" { sub(".*count:", ""); print $1 }'; }
# counted MINUTES: the requests of ann within this time, without those that count them.
counted() {
  local before
  before=$(requests)
  sleep $((60 * $1))
  echo $(($(requests) - before - 1))
}

run() {
  CPUS=2 start_engine slurm
  cp "$program" "$folder/home/bin/tollgate"
  mkdir -p "$folder/home/.local/state/tollgate"
  printf 'policy = "plan"\n[local]\nnodes = 0\n' >"$folder/home/.local/state/tollgate/config.toml"
  chown -R $ann:$ann "$folder/home"
  cd "$folder/home"
  as_bert sbatch --nodes=2 --exclusive --time=60 --chdir=/tmp --output=/dev/null --wrap 'sleep 3600' >/dev/null
  as_ann tollgate serve --detach --listen 0.0.0.0:8443
  as_ann tollgate site add north --engine slurm --cores 2 --time 10m --at-most 1
  as_ann tollgate site keep --detach
  # The first looks are frequent.
  sleep 120
  local idle busy
  idle=$(counted "$minutes")
  echo "idle: $idle requests in $minutes minutes"
  as_ann tollgate submit --requeue --array 1-20 --estimate 1m --output none -- sleep 60
  sleep 60
  busy=$(counted 1)
  as_ann squeue --me --noheader
  echo "a pilot and 20 tasks wait: $busy requests in a minute"
  [ "$idle" -le $((6 * minutes)) ]
}

[ -n "${NAMED_HOST:-}" ] || rm -rf "$folder"/{slurm,home}
enter_named_host "$@"
run
