#!/usr/bin/env bash
# Damages inputs for every parser, the bodies of requests, workers' frames and the runner's journal, and
# fails if one of them panics, takes more than 10 s or more than 1 GB; that input is kept.
#
#   .ci/parts/mutate.sh [MINUTES [SEED]]
#
# MINUTES is for how long [default: 5]; the same SEED gives the same inputs [default: 1].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

exec cargo run --quiet --release -p tollgate-mutation -- "${1:-5}" "${2:-1}"
