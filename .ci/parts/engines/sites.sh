#!/usr/bin/env bash
# `tollgate site` on a real engine: add, check, two pilots, a job with a promise that is kept, a shell, no pilots, an empty queue.
# Needs root, and installs the engine.
#
#   .ci/parts/engines/sites.sh slurm|sge|htcondor|local PROGRAM FOLDER [ssh]
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the service and what they write. Service, pilots and commands run
# as OWNER (nobody), which reaches the service over TCP, with a token for each pilot. With `ssh`, Slurm's commands run over a
# real sshd on this host's loopback, as a user of the test's own, who has the engine only there.
set -euo pipefail
engine=$1 program=$(realpath "$2") owner=${OWNER:-nobody}
mkdir -p "$3"
folder=$(realpath "$3") over=${4:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

prepare() {
  rm -rf "$folder/run"
  mkdir -p "$folder/run/bin"
  chmod 755 "$folder" "$folder/run"
  cp "$program" "$folder/run/bin/tollgate"
  cp "$here/sites.sh" "$folder/run"
  chmod 755 "$folder/run/sites.sh"
  # Ports of its own, beside a cluster that another test uses.
  export PORT=7930 SHARE=$folder/run
  [ "$engine" = local ] || "$here/$engine.sh" up "$folder/$engine"
  trap 'stop_sshd; [ "$engine" = local ] || "$here/$engine.sh" down "$folder/$engine"' EXIT
  [ -z "$over" ] || { owner=tollgatessh && start_sshd; }
  local enter=(setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups)
  case "$engine" in
    slurm | local) ;;
    sge)
      . "$folder/sge/env"
      # shellcheck disable=SC2206
      enter=($SGE_ENTER "${enter[@]}")
      ;;
    htcondor)
      . "$folder/htcondor/env"
      read -ra enter <<<"$CONDOR_ENTER"
      owner=$(chroot "$folder/htcondor/root" id -u tester)
      ;;
  esac
  chown -R "$owner" "$folder/run"
  "${enter[@]}" env PREPARED=yes "$folder/run/sites.sh" "$engine" "$folder/run/bin/tollgate" "$folder" $over
}

# A user whose home is the folder of the run, and an sshd that gives this user's commands the engine's environment.
start_sshd() {
  command -v sshd >/dev/null || apt-get -qq install -y --no-install-recommends openssh-server openssh-client >/dev/null
  local home=$folder/run keys=$folder/run/.ssh
  id "$owner" >/dev/null 2>&1 || useradd --system --user-group --no-create-home --shell /bin/sh "$owner"
  usermod --home "$home" --password '*' "$owner"
  mkdir -p "$keys" /run/sshd
  ssh-keygen -q -t ed25519 -N '' -f "$keys/key"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/run/host_key"
  cp "$keys/key.pub" "$keys/authorized_keys"
  printf 'Host far\n HostName 127.0.0.1\n Port 18922\n IdentityFile %s\n UserKnownHostsFile %s\n' "$keys/key" "$keys/known" >"$keys/config"
  printf '[127.0.0.1]:18922 %s\n' "$(cut -d' ' -f1,2 "$folder/run/host_key.pub")" >"$keys/known"
  . "$folder/$engine/env"
  printf '%s\n' 'ListenAddress 127.0.0.1:18922' "HostKey $folder/run/host_key" "PidFile $folder/sshd.pid" 'StrictModes no' 'UsePAM no' \
    "SetEnv SLURM_CONF=$SLURM_CONF PATH=$folder/run/bin:$PATH" >"$folder/run/sshd_config"
  unset SLURM_CONF
  chmod 600 "$keys/key" "$folder/run/host_key"
  /usr/sbin/sshd -f "$folder/run/sshd_config" -E "$folder/sshd.log"
}

stop_sshd() {
  [ ! -e "$folder/sshd.pid" ] || kill "$(cat "$folder/sshd.pid")"
  ! id tollgatessh >/dev/null 2>&1 || userdel --force tollgatessh 2>/dev/null
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

# The jobs of this user that the engine still has.
queue() {
  case "$engine" in
    slurm) ${over:+ssh far} squeue --noheader --me --format=%A,%j,%T | { grep -v COMPLETING || true; } ;;
    sge) qstat ;;
    htcondor) condor_q -constraint 'JobStatus < 3' -af ClusterId ;;
    local) tollgate __local-queue states | { grep runs || true; } ;;
  esac
}

run() {
  cd "$folder/run"
  # The one address that this host and the pilots of every engine have.
  export TOLLGATE_SPREAD_ADDRESS=127.0.0.1
  export HOME=$folder/run PATH=$folder/run/bin:$PATH XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA=
  [ -n "$over" ] || case "$engine" in slurm | sge) . "$folder/$engine/env" ;; htcondor | local) ;; esac
  mkdir -p .local/state/tollgate
  printf 'policy = "plan"\n[local]\nnodes = 0\n' >.local/state/tollgate/config.toml
  tollgate serve --listen 127.0.0.1:18990 >service.log 2>&1 &
  service=$!
  local job
  trap 'kill "$service"; wait "$service" || true' EXIT
  waits 'plan' tollgate status || { cat service.log >&2; return 1; }
  tollgate site add here --engine "$engine" --time 10m --idle 2m ${over:+--via far --program "$folder/run/bin/tollgate"}
  tollgate site check here --wait 1m
  tollgate site scale here 2
  waits 'here.1 .*connected' tollgate nodes
  waits 'here.2 .*connected' tollgate nodes
  tollgate site status here
  job=$(tollgate submit --deadline 3m --estimate 5s --output none --format json -- sleep 1 | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
  tollgate wait "$job"
  tollgate explain "$job" | tee explained
  grep -q 'promise kept' explained
  # A command on a terminal on one of the pilots, which connects back to this host. It ends with 3.
  tollgate session shell --on here.2 --time 30s -- sh -c 'echo "a shell on $TOLLGATE_WORKER"; exit 3' </dev/null >shell.out || echo "exit $?" >>shell.out
  cat shell.out
  grep -q 'a shell on here.2' shell.out && grep -qx 'exit 3' shell.out
  tollgate site scale here 0
  waits ' 0 pending, 0 running(;|$)' tollgate site status here
  tollgate site remove here
  [ -z "$(queue)" ] || { echo "jobs are left in the queue:" >&2; queue >&2; return 1; }
}

if [ -n "${PREPARED:-}" ]; then
  run
else
  prepare
  echo "$engine: all is well"
fi
