#!/usr/bin/env bash
# Two services with pilots on two real engines, and a job that goes to the better quote: the promise is kept, the other
# quote is released. Needs root, and installs the engines.
#
#   .ci/parts/engines/bid.sh PROGRAM FOLDER [ENGINE ENGINE]
#
# PROGRAM is the built tollgate; FOLDER keeps the engines, the services and what they write. The engines are slurm and sge,
# or the two that are named, of which one may be `local`: pilots on this host without an engine. Services, pilots and
# commands run as OWNER (nobody).
set -euo pipefail
program=$(realpath "$1") owner=${OWNER:-nobody}
mkdir -p "$2"
folder=$(realpath "$2") engines=("${3:-slurm}" "${4:-sge}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# Ports and a namespace of its own, beside clusters that other tests use.
export SPACE=tollgate-bid

# at ENGINE COMMAND..: runs a command where the engine's commands work, as the owner of its service.
at() {
  local engine=$1 enter=()
  shift
  (
    case "$engine" in
      slurm) . "$folder/slurm/env" ;;
      sge)
        . "$folder/sge/env"
        read -ra enter <<<"$SGE_ENTER"
        ;;
    esac
    cd "$folder/run/$engine"
    "${enter[@]}" setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups \
      env HOME="$folder/run/$engine" PATH="$folder/run/bin:$PATH" XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA= "$@"
  )
}

# waits TEXT COMMAND..: until the command's output has the text, for at most a minute.
waits() {
  local text=$1 end=$((SECONDS + 60))
  shift
  until "$@" 2>&1 | grep -qE "$text"; do
    [ "$SECONDS" -lt "$end" ] || { echo "no \`$text\` within a minute in: $*" >&2; "$@" >&2; return 1; }
    sleep 0.2
  done
}

# A service whose two nodes are pilots on the engine.
start() {
  local engine=$1 port=$2
  mkdir -p "$folder/run/$engine/.local/state/tollgate"
  printf 'policy = "plan"\n[local]\nnodes = 0\n' >"$folder/run/$engine/.local/state/tollgate/config.toml"
  chown -R "$owner" "$folder/run/$engine"
  at "$engine" tollgate serve --listen "127.0.0.1:$port" >"$folder/run/$engine.log" 2>&1 &
  waits 'plan' at "$engine" tollgate status
  at "$engine" tollgate site add "pilots-$engine" --engine "$engine" --time 10m --idle 5m
  at "$engine" tollgate site scale "pilots-$engine" 2
  waits "pilots-$engine.2 .*connected" at "$engine" tollgate nodes
  waits "pilots-$engine.1 .*connected" at "$engine" tollgate nodes
  user tollgate cluster add "$engine" --data "$folder/run/$engine/.local/state/tollgate"
}

# A user of both services, who has neither engine.
user() { at user "$@"; }

# load CLUSTER: jobs that keep both of its pilots for two minutes.
load() { user tollgate submit -q --cluster "$1" --array 1-2 --deadline 7m --estimate 2m --output none -- sleep 120; }

# goes_to CLUSTER OTHER: a job goes to the one, keeps its promise there, and the quote of the other is released.
goes_to() {
  local job
  user tollgate quote --to any --deadline 6m --estimate 5s -- sleep 1
  job=$(user tollgate submit -q --to any --deadline 6m --estimate 5s --output none -- sleep 1)
  [[ $job == "$1":* ]] || { echo "the job went to $job, expected $1" >&2; return 1; }
  user tollgate wait "$job"
  user tollgate explain "$job" | tee "$folder/run/user/explained"
  grep -q 'promise kept' "$folder/run/user/explained"
  user tollgate jobs --all --cluster "$2" | grep -q ' expired ' || { echo "nothing was released at $2" >&2; return 1; }
}

rm -rf "$folder/run"
mkdir -p "$folder/run/bin" "$folder/run/user"
chmod 755 "$folder" "$folder/run"
cp "$program" "$folder/run/bin/tollgate"
chown "$owner" "$folder/run/user"
stop() {
  local engine
  for engine in "${engines[@]}"; do
    at "$engine" tollgate site scale "pilots-$engine" 0 >/dev/null || true
    at "$engine" tollgate status --format json 2>/dev/null | sed -n 's/^ *"pid": \([0-9]*\).*/\1/p' | xargs -r kill || true
    [ "$engine" = local ] || "$here/$engine.sh" down "$folder/$engine"
  done
  wait
}
trap stop EXIT
port=18980
for engine in "${engines[@]}"; do
  port=$((port + 1))
  PORT=$((8000 + (port - 18980) * 40)) SHARE=$folder/run
  export PORT SHARE
  [ "$engine" = local ] || "$here/$engine.sh" up "$folder/$engine"
  start "$engine" "$port"
done
user tollgate cluster check
one=${engines[0]} two=${engines[1]}
busy=$(load "$one")
goes_to "$two" "$one"
user tollgate cancel "$one:$busy"
busy=$(load "$two")
waits ' 2 idle' user tollgate status --cluster "$one"
goes_to "$one" "$two"
user tollgate cancel "$two:$busy"
echo "$one and $two: all is well"
