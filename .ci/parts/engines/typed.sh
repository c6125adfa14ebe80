#!/usr/bin/env bash
# What docs/sites/sites.md and docs/sites/sessions.md, and for Slurm docs/sites/use-of-pilots.md
# and docs/service/engines.md, tell a reader to type at a real engine, as it stands: an
# ordinary user, on a host with a name and an address that is not loopback, with nodes elsewhere. Needs root, and installs the engine.
#
#   .ci/parts/engines/typed.sh slurm|sge|htcondor PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the service and what they write.
set -euo pipefail
engine=$1 program=$(realpath "$2")
mkdir -p "$3"
folder=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
docs=$here/../../../docs
. "$here/named.sh"
. "$here/blocks.sh"

# typed DOCUMENT: prints what a document tells to type at Slurm, with the lines for another engine in the place of those that add
# the site.
typed() {
  if [ "$engine" = slurm ]; then blocks "$1" slurm; return; fi
  blocks "$1" slurm | awk -v lines="$(blocks "$1" "$engine")" '/^tollgate site add/ { print lines; next } { print }'
}

run() {
  start_engine "$engine"
  cp "$program" "$folder/home/bin/tollgate"
  printf '#!/bin/sh\nsleep 1\n' >"$folder/home/job.sh"
  chmod 755 "$folder/home/job.sh"
  chown -R $ann:$ann "$folder/home"
  { typed sites/sites.md; cat "$here/typed_site.sh"; } | ann_types site
  [ "$engine" != slurm ] || { typed sites/use-of-pilots.md; cat "$here/typed_shapes.sh"; } | ann_types shapes
  { typed sites/sessions.md; cat "$here/typed_session.sh"; } | ann_types session
  [ "$engine" != slurm ] || { typed service/engines.md; cat "$here/typed_engine.sh"; } | ann_types engine
}

enter_named_host "$@"
run
echo "$engine, typed: all is well"
