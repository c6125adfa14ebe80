# Sourced by scripts whose session has four sites: two Slurm clusters, a Grid Engine and an HTCondor, each reached over a real ssh.
# shellcheck shell=bash disable=SC2154
#
# The script sets `program`, `folder`, `here`, `home` and `user` first. The session is that of `user`, who has no engine on this
# host; the four log-in hosts are four `sshd` behind a socket each, which differ in what their commands see. All parents of
# `folder` must be root's own, because the ssh of the HTCondor site changes its root to a folder below it. FOUR_PORT (7930): ports
# from here on. SLOTS_NORTH, SLOTS_SOUTH, SLOTS_EAST, SLOTS_WEST (8): cores of each site.
port=${FOUR_PORT:-7930}

# Fails if anybody but root could replace a folder on the way to `folder`, because sshd does not change its root to such a one.
only_root_can_replace_folder() {
  local at=$folder
  until [ "$at" = / ]; do
    at=$(dirname "$at")
    [ "$(find "$at" -prune -user 0 ! -perm /022)" = "$at" ] ||
      { echo "$folder: sshd needs a folder all of whose parents are root's own, and others can write to $at" >&2; return 1; }
  done
}

# prepare SCRIPT: brings the engines up, and makes the home directory of the user, with SCRIPT in it.
prepare() {
  only_root_can_replace_folder
  command -v sshd >/dev/null && command -v socat >/dev/null ||
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends openssh-server openssh-client socat >/dev/null
  rm -rf "$home"
  mkdir -p "$home/bin" "$home/.ssh" /run/sshd
  chmod 755 "$folder" "$home"
  cp "$program" "$home/bin/tollgate"
  cp "$1" "$here/four.sh" "$home"
  chmod 755 "$home/$(basename "$1")"
  trap down EXIT
  up
  # The same user here and in the root of HTCondor, whose jobs run as that user.
  id "$user" >/dev/null 2>&1 || useradd --system --user-group --no-create-home --home-dir "$home" --password '*' --shell /bin/sh "$user"
  chroot "$folder/htcondor/root" usermod --uid "$(id -u "$user")" tester
  # Of two names of a user id, the first one counts.
  local names=$folder/htcondor/root/etc/passwd
  { sed -n "s/^tester:/$user:/p" "$names"; grep -v "^$user:" "$names"; } >"$names.new"
  cat "$names.new" >"$names"
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
  chown -R "$user" "$home"
}

up() {
  PORT=$port NODES=2 CPUS=$((${SLOTS_NORTH:-8} / 2)) "$here/slurm.sh" up "$folder/north" &
  PORT=$((port + 10)) NODES=2 CPUS=$((${SLOTS_SOUTH:-8} / 2)) "$here/slurm.sh" up "$folder/south" && wait $!
  SLOTS=${SLOTS_EAST:-8} "$here/sge.sh" up "$folder/sge"
  CPUS=${SLOTS_WEST:-8} SHARE=$home PORT=$((port + 1798)) "$here/htcondor.sh" up "$folder/htcondor"
}

down() {
  local pid
  # Their user id is given to another user later.
  for pid in $(pgrep -u "$user"); do kill -KILL "$pid" || true; done
  for pid in "$folder"/*.door.pid; do [ ! -e "$pid" ] || kill "$(cat "$pid")" || true; done
  rm -f "$folder"/*.door.pid
  "$here/slurm.sh" down "$folder/north"
  "$here/slurm.sh" down "$folder/south"
  "$here/sge.sh" down "$folder/sge"
  "$here/htcondor.sh" down "$folder/htcondor"
  ! id "$user" >/dev/null 2>&1 || userdel --force "$user" 2>/dev/null
}

# log_in_host NAME SETTING [ENTER]: an sshd behind the socket NAME.door, whose commands run behind the words ENTER.
log_in_host() {
  local door=$home/$1.door
  printf '%s\n' "HostKey $folder/host_key" 'StrictModes no' 'UsePAM no' "AuthorizedKeysFile $home/.ssh/authorized_keys" "$2" >"$folder/$1.sshd"
  printf 'Host %s\n ProxyCommand socat - UNIX-CONNECT:%s\n IdentityFile %s\n UserKnownHostsFile %s\n' \
    "$1" "$door" "$home/.ssh/key" "$home/.ssh/known" >>"$home/.ssh/config"
  # One connection for all commands, as users of busy log-in hosts have it.
  printf ' ControlMaster auto\n ControlPath %s\n ControlPersist 60\n' "$home/.ssh/$1.master" >>"$home/.ssh/config"
  printf '%s %s\n' "$1" "$(cut -d' ' -f1,2 "$folder/host_key.pub")" >>"$home/.ssh/known"
  # shellcheck disable=SC2086
  ${3:-} socat "UNIX-LISTEN:$door,fork,mode=666" "EXEC:/usr/sbin/sshd -i -f $folder/$1.sshd" &
  echo $! >"$folder/$1.door.pid"
  until [ -e "$door" ]; do sleep 0.05; done
}

# as_user SCRIPT WORD..: runs the script in the home directory as the user.
as_user() {
  setpriv --reuid="$user" --regid="$user" --clear-groups env PREPARED=yes "$home/$(basename "$1")" "${@:2}"
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

# The jobs of the user that the four engines still have.
queues() {
  ssh north squeue --noheader --me --format=%A,%j,%T | grep -v COMPLETING || true
  ssh south squeue --noheader --me --format=%A,%j,%T | grep -v COMPLETING || true
  ssh east qstat -u "$user"
  ssh west condor_q -constraint "'JobStatus < 3'" -af ClusterId
}

# add_sites PILOTS TIME: the four sites. Grid Engine's hosts are in a network of their own, which has no way here but the file
# system: there, the service is reached by the socket of session `four`.
add_sites() {
  local site more socket=$home/.local/state/tollgate-sessions/four/data/socket
  for site in north:slurm south:slurm east:sge west:htcondor; do
    more=()
    [ "$site" != east:sge ] || more=(--connect "unix:$socket")
    tollgate site add "${site%:*}" --engine "${site#*:}" --via "${site%:*}" --program "$home/bin/tollgate" --pilots "$1" --time "$2" "${more[@]}" 2>/dev/null
  done
}

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s\n", to - from }'; }
