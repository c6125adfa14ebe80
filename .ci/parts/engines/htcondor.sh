#!/usr/bin/env bash
# A real HTCondor on this machine, for tests: of Debian 13, in a root directory of its own, because Debian 12 has no
# package. Every daemon listens on loopback. Needs root; the first `up` takes minutes, and the network.
#
#   .ci/parts/engines/htcondor.sh install FOLDER   only fetches the packages, for an `up` where there is no network
#   .ci/parts/engines/htcondor.sh up FOLDER     starts what is not running; then: . FOLDER/env; $CONDOR_ENTER condor_q
#   .ci/parts/engines/htcondor.sh down FOLDER   ends what `up` has started, and releases what it mounted
#
# CPUS (8) processors, MEMORY (8000) MB. The collector listens on PORT (9718). SHARE names a folder that jobs see, too.
# Commands and jobs run as the user `tester` of that root, because HTCondor runs no jobs of root.
# ADDRESS (127.0.0.1): where the scheduler listens. NODE_ENTER and NODE_ADDRESS: the command by which the machine of the jobs is
# entered, if it is not that of the scheduler, and its address. SETTINGS: further lines of its configuration.
set -euo pipefail
command=${1:?expected install, up or down} folder=${2:?expected a folder}
cpus=${CPUS:-8} memory=${MEMORY:-8000} port=${PORT:-9718} share=${SHARE:-}
address=${ADDRESS:-127.0.0.1} node_address=${NODE_ADDRESS:-127.0.0.1}
read -ra node_enter <<<"${NODE_ENTER:-}"

is_mounted() { grep -qF " $1 " /proc/self/mounts; }
attach() {
  mkdir -p "$root$1"
  is_mounted "$root$1" || { mount --bind "$1" "$root$1" && mount --make-private "$root$1"; }
}

# The process of the master `master`, or of that of the jobs' machine, `node`, if it runs.
master() {
  local pid
  pid=$(cat "$root/run/condor/$1.pid" 2>/dev/null) && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = condor_master ] && echo "$pid"
}

make_root() {
  [ -e "$folder/complete" ] && return
  command -v mmdebstrap >/dev/null || {
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install --no-install-recommends mmdebstrap >/dev/null
  }
  local source
  # From where this machine has its own packages.
  source=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk '$2 !~ /security/ && !found++ { print $1 }')
  rm -rf "$root"
  # Packages must not start daemons of their own.
  mmdebstrap --quiet --variant=apt --include=condor,coreutils,procps \
    --essential-hook='printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d"; chmod +x "$1/usr/sbin/policy-rc.d"' \
    trixie "$root" "$source"
  chroot "$root" useradd --create-home tester
  touch "$folder/complete"
}

configure() {
  cat <<CONFIG
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD $([ ${#node_enter[@]} -gt 0 ] || echo STARTD)
CONDOR_HOST = $address
COLLECTOR_HOST = $address:$port
NETWORK_INTERFACE = $address
BIND_ALL_INTERFACES = False
ENABLE_IPV6 = False
UID_DOMAIN = test
FILESYSTEM_DOMAIN = test
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
SEC_CLIENT_AUTHENTICATION_METHODS = FS
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_ADMINISTRATOR = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
NUM_CPUS = $cpus
MEMORY = $memory
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = True
START = True
SUSPEND = False
PREEMPT = False
KILL = False
MachineMaxVacateTime = 15
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_CYCLE_DELAY = 1
NEGOTIATOR_MIN_INTERVAL = 1
SCHEDD_INTERVAL = 2
SCHEDD_MIN_INTERVAL = 1
UPDATE_INTERVAL = 5
POLLING_INTERVAL = 5
JOB_START_DELAY = 0
BASE_CGROUP =
MOUNT_UNDER_SCRATCH =
PER_JOB_NAMESPACES = False
USE_PID_NAMESPACES = False
${SETTINGS:-}
CONFIG
}

answers() { $CONDOR_ENTER timeout 5 condor_status -af Cpus 2>/dev/null | grep -q . && $CONDOR_ENTER timeout 5 condor_q >/dev/null 2>&1; }

up() {
  make_root
  is_mounted "$root/proc" || mount -t proc proc "$root/proc"
  local path
  for path in /dev /dev/shm /dev/pts /sys $share; do attach "$path"; done
  cp /etc/hosts /etc/hostname "$root/etc/"
  chroot "$root" install -d -o condor -g condor /run/condor /var/log/condor /var/lock/condor /var/spool/condor /var/lib/condor/execute
  configure >"$root/etc/condor/config.d/99-test.config"
  echo "export CONDOR_ENTER='chroot --userspec=tester:tester $root env HOME=/home/tester USER=tester PATH=/usr/bin:/bin:/usr/sbin'" >"$folder/env"
  . "$folder/env"
  master master >/dev/null || chroot "$root" condor_master -pidfile /run/condor/master.pid
  [ ${#node_enter[@]} = 0 ] || master node >/dev/null || start_node
  local end=$((SECONDS + 60))
  until answers; do
    [ "$SECONDS" -lt "$end" ] || { tail -n 5 "$root/var/log/condor/MasterLog" >&2; echo "HTCondor is not ready after 60 s" >&2; exit 1; }
    sleep 0.2
  done
}

# Starts the daemons of the machine of the jobs, which share the root directory.
start_node() {
  chroot "$root" install -d -o condor -g condor /var/log/condor/node /var/lock/condor/node /var/lib/condor/node /run/condor/node
  "${node_enter[@]}" chroot "$root" env "_CONDOR_DAEMON_LIST=MASTER STARTD" "_CONDOR_NETWORK_INTERFACE=$node_address" \
    _CONDOR_LOG=/var/log/condor/node _CONDOR_LOCK=/var/lock/condor/node _CONDOR_EXECUTE=/var/lib/condor/node \
    _CONDOR_RUN=/run/condor/node _CONDOR_DAEMON_SOCKET_DIR=/run/condor/node condor_master -pidfile /run/condor/node.pid
}

down() {
  local pid path n name
  for name in node master; do
    pid=$(master $name) || continue
    # Ends jobs and daemons at once.
    kill -QUIT "$pid"
    for n in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    if kill -0 "$pid" 2>/dev/null; then kill -KILL "$pid"; fi
  done
  # The deepest first. Processes of jobs may use one for a moment more.
  awk -v below="$root/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r path; do
    umount "$path" 2>/dev/null || umount --lazy "$path"
  done
}

mkdir -p "$folder"
folder=$(realpath "$folder") root=$(realpath "$folder")/root
case "$command" in
  up | down) "$command" ;;
  install) make_root ;;
  *) echo "$command: expected install, up or down" >&2; exit 2 ;;
esac
