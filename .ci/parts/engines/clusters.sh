#!/usr/bin/env bash
# What docs/sites/clusters.md tells a reader to type where the clusters are hosts with names, as it stands: an ordinary user, two hosts that
# reach each other by name over a real link, with a service on each. Needs root.
#
#   .ci/parts/engines/clusters.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
docs=$here/../../../docs
. "$here/named.sh"
. "$here/blocks.sh"

# type_at HOST: as on this host, with a home directory of its own for each.
type_at() {
  local enter=()
  [ "$1" != node1 ] || read -ra enter <<<"$NODE_ENTER"
  variables=("HOME=$folder/home/$1" "PATH=$folder/home/bin:/usr/bin:/bin")
  enter_engine=("${enter[@]}")
  blocks sites/clusters.md host | ann_types "$1"
  cp -p "$folder/home/$1/token" "$folder/home/$1.token"
  cp -p "$folder/home/$1/.local/state/tollgate/server.crt" "$folder/home/$1.crt"
  variables=() enter_engine=()
}

run() {
  cp "$program" "$folder/home/bin/tollgate"
  mkdir "$folder/home/login1" "$folder/home/node1"
  chown -R $ann:$ann "$folder/home"
  type_at login1
  type_at node1
  blocks sites/clusters.md client | ann_types client | tee "$folder/said"
  grep -q '^at-node1:1$' "$folder/said"
}

enter_named_host "$@"
run
echo "clusters, typed: all is well"
