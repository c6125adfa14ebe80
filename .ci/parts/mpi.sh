#!/usr/bin/env bash
# A program of Open MPI on three workers, each with a network and a host name of its own: it gets all of
# its processors by `mpirun` without options, its promise is kept, and no rank outlives its job.
#
#   .ci/parts/mpi.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps what the jobs write. Needs root, for the networks.
set -euo pipefail

skip() {
  printf '\nSKIPPED, nothing was tried: MPI over several hosts: %s\n' "$*" >&2
  exit 0
}

if [ "${MPI_SH_INSIDE-}" != yes ]; then
  [ "$(id -u)" = 0 ] || skip "networks of its own need root"
  for command in mpicc mpirun ip nsenter python3; do
    command -v "$command" >/dev/null || skip "no command $command: install openmpi-bin, libopenmpi-dev, iproute2"
  done
  unshare --net --uts --mount true 2>/dev/null || skip "the kernel gives no networks of its own here"
  MPI_SH_INSIDE=yes exec unshare --net --mount "$0" "$@"
fi

program=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/mpi" && pwd)
rm -rf "$2"
mkdir -p "$2/bin" "$2/jobs"
folder=$(realpath "$2")
cd "$folder"
ln -s "$program" bin/tollgate
export PATH=$folder/bin:$PATH TOLLGATE_DATA=$folder/data

processes=()
# shellcheck disable=SC2317,SC2329
finish() {
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  for process in "${processes[@]}"; do wait "$process" || true; done
}
trap finish EXIT

echo "== three hosts: networks, host names, workers"
mount -t tmpfs tmpfs /run && mkdir /run/netns
ip link set lo up
mpicc -o ranks "$here/ranks.c"
ip link add hub type bridge && ip link set hub up
mkdir -m 700 data
cat >data/config.toml <<'TOML'
policy = "plan"
root_jobs = true
account = "root"
[workers]
grace_s = 10.0
TOML
tollgate serve >service.log 2>&1 &
processes+=($!)
until tollgate status >/dev/null 2>&1; do sleep 0.1; done
tollgate drain
for n in 1 2 3; do
  ip netns add "node$n"
  ip link add "veth$n" type veth peer name eth0 netns "node$n"
  ip link set "veth$n" master hub up
  on_node() { nsenter --net="/run/netns/node$n" "$@"; }
  on_node ip link set lo up
  on_node ip addr add "10.77.0.$n/24" dev eth0
  on_node ip link set eth0 up
  # Not by the function, so that its number is that of the worker itself.
  nsenter --net="/run/netns/node$n" unshare --uts sh -c 'hostname "$0" && exec tollgate worker --name "$0" --connect "unix:$1/data/socket" \
    --data "$1/$0" --nodes 2 --root-jobs --account root' "node$n" "$folder" >"node$n.log" 2>&1 &
  processes+=($!)
done
until [ "$(tollgate nodes --format json | grep -c '"connected"')" = 3 ]; do sleep 0.1; done

# Submits a job on all processors that runs the ranks by mpirun: job NAME OPTIONS.. -- ARGUMENTS..
job() {
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  tollgate submit --quiet -n 6 --name "$name" --env "PATH=$PATH" --output "jobs/$name" "${options[@]}" \
    -- mpirun --allow-run-as-root ./ranks "$@"
}

ranks() { grep -c '^rank ' "jobs/$1" 2>/dev/null || true; }

# Fails if a rank of a job that is over is alive.
none_alive() {
  local pid
  for pid in $(awk '/^rank /{print $NF}' "jobs/$1"); do
    if grep -qsv ') Z ' "/proc/$pid/stat"; then
      echo "$1: rank with process $pid is alive" >&2
      return 1
    fi
  done
  if pgrep -a orted; then
    echo "$1: a daemon of mpirun is alive" >&2
    return 1
  fi
}

echo "== a promised job sees all of its processors, and its promise is kept"
id=$(job promised --estimate 1m --deadline 10m -- 1)
tollgate wait "$id"
sort "jobs/promised"
[ "$(ranks promised)" = 6 ]
[ "$(grep -c 'of 6 sum 6' jobs/promised)" = 6 ]
for n in 1 2 3; do [ "$(grep -c "host node$n " jobs/promised)" = 2 ]; done
none_alive promised
tollgate jobs --all --format json | python3 -c '
import json, sys
job, = json.load(sys.stdin)["jobs"]
assert (job["state"], job["promise"], job["procs"]) == ("finished", "kept", 6), job
'

echo "== no rank outlives a cancelled job"
id=$(job cancelled --estimate 1m --deadline 30m -- 600)
until [ "$(ranks cancelled)" = 6 ]; do sleep 0.1; done
tollgate cancel "$id"
tollgate wait "$id" || true
none_alive cancelled

echo "== nor a job at its time limit"
id=$(job limited --time-limit 5s -- 600)
tollgate wait "$id" || true
[ "$(ranks limited)" = 6 ]
none_alive limited

echo "== nor one of whose ranks fails"
id=$(job failed --estimate 1m -- 600 3)
code=0 && tollgate wait "$id" || code=$?
[ "$code" = 3 ] || { echo "exit code $code" >&2 && exit 1; }
none_alive failed

echo "== nor one whose worker is killed with all that it runs"
id=$(job lost --estimate 1m -- 600)
until [ "$(ranks lost)" = 6 ]; do sleep 0.1; done
kill -9 "${processes[2]}"
tollgate wait "$id" || true
for _ in $(seq 300); do none_alive lost 2>/dev/null >&2 && break || sleep 0.1; done
none_alive lost

echo "== tollgate spread, by the addresses of these networks"
id=$(tollgate submit --quiet -n 4 --estimate 1m --env "PATH=$PATH" --output jobs/spread -- \
  tollgate spread -n 4 -- sh -c 'echo "$TOLLGATE_RANK of $TOLLGATE_COPIES on $(hostname)"')
tollgate wait "$id"
sort jobs/spread
[ "$(sort jobs/spread | cut -d ' ' -f 1-3 | tr '\n' ' ')" = "0 of 4 1 of 4 2 of 4 3 of 4 " ]
echo "MPI over several hosts: all as it should be"
