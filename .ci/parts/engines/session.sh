#!/usr/bin/env bash
# A session on four sites at once: two Slurm clusters, a Grid Engine and an HTCondor, each reached over a real ssh. Starts it,
# keeps a promise on a pilot of each site, ends it, and looks at each engine for what is left. Needs root, and installs the engines.
#
#   .ci/parts/engines/session.sh PROGRAM FOLDER
#
# PROGRAM is the built tollgate; FOLDER keeps the engines and what they write. All parents of FOLDER must be root's own, because
# the ssh of the HTCondor site changes its root to a folder below it. The session is that of the user `tester`, who has no engine
# on this host; the four log-in hosts are four `sshd` behind a socket each, which differ in what their commands see.
set -euo pipefail
program=$(realpath "$1") user=tester
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=$folder/run

prepare() {
  command -v sshd >/dev/null && command -v socat >/dev/null ||
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends openssh-server openssh-client socat >/dev/null
  rm -rf "$home"
  mkdir -p "$home/bin" "$home/.ssh" /run/sshd
  chmod 755 "$folder" "$home"
  cp "$program" "$home/bin/tollgate"
  cp "$here/session.sh" "$home"
  chmod 755 "$home/session.sh"
  trap down EXIT
  up
  # The same user here and in the root of HTCondor, whose jobs run as that user.
  id $user >/dev/null 2>&1 || useradd --system --user-group --no-create-home --home-dir "$home" --password '*' --shell /bin/sh $user
  chroot "$folder/htcondor/root" usermod --uid "$(id -u $user)" $user
  ssh-keygen -q -t ed25519 -N '' -f "$home/.ssh/key"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key" <<<y >/dev/null
  cp "$home/.ssh/key.pub" "$home/.ssh/authorized_keys"
  log_in_host north "SetEnv SLURM_CONF=$folder/north/slurm.conf PATH=/usr/bin:/bin"
  log_in_host south "SetEnv SLURM_CONF=$folder/south/slurm.conf PATH=/usr/bin:/bin"
  (
    . "$folder/sge/env"
    variables=$(env | grep '^SGE_[A-Z_]*=' | grep -v '^SGE_ENTER=' | tr '\n' ' ')
    log_in_host east "SetEnv ${variables}PATH=$PATH" "$SGE_ENTER"
  )
  log_in_host west "ChrootDirectory $folder/htcondor/root"
  chown -R $user "$home"
  setpriv --reuid=$user --regid=$user --clear-groups env PREPARED=yes "$home/session.sh" "$home/bin/tollgate" "$folder"
}

up() {
  PORT=7930 "$here/slurm.sh" up "$folder/north" &
  PORT=7940 "$here/slurm.sh" up "$folder/south" && wait $!
  "$here/sge.sh" up "$folder/sge"
  SHARE=$home PORT=9728 "$here/htcondor.sh" up "$folder/htcondor"
}

down() {
  local pid
  for pid in "$folder"/*.door.pid; do [ ! -e "$pid" ] || kill "$(cat "$pid")" || true; done
  rm -f "$folder"/*.door.pid
  "$here/slurm.sh" down "$folder/north"
  "$here/slurm.sh" down "$folder/south"
  "$here/sge.sh" down "$folder/sge"
  "$here/htcondor.sh" down "$folder/htcondor"
  ! id $user >/dev/null 2>&1 || userdel --force $user 2>/dev/null
}

# log_in_host NAME SETTING [ENTER]: an sshd behind the socket NAME.door, whose commands run behind the words ENTER.
log_in_host() {
  local door=$home/$1.door
  printf '%s\n' "HostKey $folder/host_key" 'StrictModes no' 'UsePAM no' "AuthorizedKeysFile $home/.ssh/authorized_keys" "$2" >"$folder/$1.sshd"
  printf 'Host %s\n ProxyCommand socat - UNIX-CONNECT:%s\n IdentityFile %s\n UserKnownHostsFile %s\n' \
    "$1" "$door" "$home/.ssh/key" "$home/.ssh/known" >>"$home/.ssh/config"
  printf '%s %s\n' "$1" "$(cut -d' ' -f1,2 "$folder/host_key.pub")" >>"$home/.ssh/known"
  # shellcheck disable=SC2086
  ${3:-} socat "UNIX-LISTEN:$door,fork,mode=666" "EXEC:/usr/sbin/sshd -i -f $folder/$1.sshd" &
  echo $! >"$folder/$1.door.pid"
  until [ -e "$door" ]; do sleep 0.05; done
}

# waits SECONDS TEXT COMMAND..: until the command's output has the text.
waits() {
  local end=$((SECONDS + $1)) text=$2
  shift 2
  until "$@" 2>&1 | grep -qE "$text"; do
    [ "$SECONDS" -lt "$end" ] || { echo "no \`$text\` in: $*" >&2; "$@" >&2; return 1; }
    sleep 0.2
  done
}

# The jobs that the four engines still have.
queues() {
  ssh north squeue --noheader --me --format=%A,%j,%T | grep -v COMPLETING || true
  ssh south squeue --noheader --me --format=%A,%j,%T | grep -v COMPLETING || true
  ssh east qstat
  ssh west condor_q -constraint "'JobStatus < 3'" -af ClusterId
}

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s\n", to - from }'; }

run() {
  cd "$home"
  export HOME=$home PATH=$home/bin:$PATH XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA=
  local began job site
  # Grid Engine's hosts are in a network of their own, which has no way here but the file system.
  local socket=$home/.local/state/tollgate-sessions/four/data/socket
  for site in north:slurm south:slurm east:sge west:htcondor; do
    local more=()
    [ "$site" != east:sge ] || more=(--connect "unix:$socket")
    tollgate site add "${site%:*}" --engine "${site#*:}" --via "${site%:*}" --program "$home/bin/tollgate" --pilots 1 --time 10m "${more[@]}" 2>/dev/null
  done
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
  [ "$(pgrep -u "$(id -u)" -x tollgate | wc -l)" = 0 ] || { echo "processes are left:" >&2; pgrep -u "$(id -u)" -x -a tollgate >&2; return 1; }
}

if [ -n "${PREPARED:-}" ]; then
  run
else
  prepare
  echo "four sites: all is well"
fi
