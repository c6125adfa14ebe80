# Sourced by scripts whose log-in host has a name: two network namespaces, of the log-in host `login1` (10.99.0.1) and of the nodes,
# `node1` (10.99.0.2), which reach each other by name over a real link, and the users `ann` and `bert`, who have no rights. All of it,
# with every process, ends with the script. Needs root.
# shellcheck shell=bash disable=SC2154
#
# The script sets `folder`, below which ann's home directory and the engine lie, `here`, and `engine` if its packages have to be fetched
# before: HTCondor, or slurmdbd. It calls `enter_named_host "$@"` first, which starts the script anew on that host, then `start_engine
# ENGINE`, and `as_ann COMMAND..` or `as_bert COMMAND..`.
ann=4321
bert=4322
variables=()

# Starts this script once more, as process 1 on the named host.
enter_named_host() {
  [ -z "${NAMED_HOST:-}" ] || { name_hosts; return; }
  # The named host has no network: what the engine needs is there before.
  case "${engine:-}" in htcondor | slurmdbd) "$here/$engine.sh" install "$folder/$engine" ;; esac
  rm -rf "$folder/home"
  mkdir -p "$folder/etc" "$folder/home/bin"
  chmod 755 "$folder" "$folder/etc" "$folder/home"
  { cat /etc/passwd; echo "ann:x:$ann:$ann::$folder/home:/bin/bash"; echo "bert:x:$bert:$bert::/tmp:/bin/bash"; } >"$folder/etc/passwd"
  { cat /etc/group; echo "ann:x:$ann:"; echo "bert:x:$bert:"; } >"$folder/etc/group"
  printf '%s\n' '127.0.0.1 localhost' '10.99.0.1 login1 login1.test' '10.99.0.2 node1 node1.test' >"$folder/etc/hosts"
  NAMED_HOST=yes exec unshare --net --uts --mount --pid --fork --kill-child --mount-proc "$0" "$@"
}

name_hosts() {
  local file
  for file in passwd group hosts; do mount --bind "$folder/etc/$file" "/etc/$file"; done
  hostname login1
  unshare --net --uts sh -c 'hostname node1; exec sleep infinity' &
  node_host=$!
  until [ "$(readlink "/proc/$node_host/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
  export NODE_ENTER="nsenter --net=/proc/$node_host/ns/net --uts=/proc/$node_host/ns/uts"
  export ADDRESS=10.99.0.1 NODE_ADDRESS=10.99.0.2 NODE_HOST=node1
  ip link add nodes type veth peer name login netns "$node_host"
  ip link set lo up
  ip link set nodes up
  ip addr add 10.99.0.1/24 dev nodes
  $NODE_ENTER ip link set lo up
  $NODE_ENTER ip link set login up
  $NODE_ENTER ip addr add 10.99.0.2/24 dev login
}

# as_ann COMMAND..: runs a command as the user, with nothing of this environment; by way of `enter_engine`, if the engine has a root
# directory of its own.
enter_engine=()
as_ann() { as_user ann $ann "$folder/home" "$@"; }
as_bert() { as_user bert $bert /tmp "$@"; }
as_user() {
  local name=$1 number=$2 home=$3
  shift 3
  "${enter_engine[@]}" setpriv "--reuid=$number" "--regid=$number" --clear-groups env -i HOME="$home" USER="$name" LOGNAME="$name" \
    SHELL=/bin/bash PATH="$folder/home/bin:/usr/bin:/bin" "${variables[@]}" "$@"
}

# start_engine ENGINE: starts it on this host, with nodes on the other one where it has daemons of its own there.
start_engine() {
  local engine=$1
  case "$engine" in
    slurm | slurmdbd)
      PORT=7930 NODES=2 CPUS=${CPUS:-4} SETTINGS="PartitionName=tollgate Nodes=ALL MaxTime=600 State=UP" "$here/$engine.sh" up "$folder/$engine"
      variables=("SLURM_CONF=$folder/$engine/slurm.conf")
      ;;
    sge)
      SPACE=here SLOTS=${SLOTS:-8} "$here/sge.sh" up "$folder/sge"
      . "$folder/sge/env"
      readarray -t variables < <(env | grep '^SGE_[A-Z_]*=' | grep -v '^SGE_ENTER=')
      variables+=("PATH=$folder/home/bin:$PATH")
      ;;
    htcondor)
      SHARE=$folder/home "$here/htcondor.sh" up "$folder/htcondor"
      enter_engine=(chroot "$folder/htcondor/root")
      "${enter_engine[@]}" id ann >/dev/null 2>&1 || "${enter_engine[@]}" useradd --uid $ann --no-create-home --home-dir "$folder/home" ann
      "${enter_engine[@]}" id bert >/dev/null 2>&1 || "${enter_engine[@]}" useradd --uid $bert --no-create-home --home-dir /tmp bert
      ;;
    *) echo "$engine: expected slurm, slurmdbd, sge or htcondor" >&2; exit 2 ;;
  esac
}
