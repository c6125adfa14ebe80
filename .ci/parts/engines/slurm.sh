#!/usr/bin/env bash
# A real Slurm on this machine, for tests: loopback only, no systemd, no database. Needs root.
#
#   .ci/parts/engines/slurm.sh up FOLDER     starts what is not running; then: . FOLDER/env; sbatch ..
#   .ci/parts/engines/slurm.sh down FOLDER   ends what `up` has started
#   .ci/parts/engines/slurm.sh munge FOLDER  starts its authentication alone
#   .ci/parts/engines/slurm.sh try FOLDER    whether it starts here: `up`, then `down`
#   .ci/parts/engines/slurm.sh install       only installs it
#
# NODES (2) nodes of CPUS (4) processors and MEMORY (2000) MB. The controller listens on PORT (7817), node N on
# PORT + N, so that several clusters can run at once. KILL_WAIT (10): seconds from SIGTERM to SIGKILL at a time limit.
# ADDRESS (127.0.0.1): where the controller listens. NODE_ADDRESS, NODE_HOST, NODE_ENTER (those of the controller): the address and
# the host name of the nodes, and a command that starts their daemons there. SETTINGS: further lines of slurm.conf.
# ACCOUNTING (accounting_storage/none): where records of ended jobs go.
# The partition `main` takes all jobs, `short` those of at most 5 minutes.
set -euo pipefail
command=${1:?expected up, down, munge, try or install} folder=${2:-/nonexistent}
address=${ADDRESS:-127.0.0.1} node_address=${NODE_ADDRESS:-127.0.0.1} node_host=${NODE_HOST:-$(hostname)}
read -ra node_enter <<<"${NODE_ENTER:-}"
nodes=${NODES:-2} cpus=${CPUS:-4} memory=${MEMORY:-2000} port=${PORT:-7817} kill_wait=${KILL_WAIT:-10}

. "$(dirname "${BASH_SOURCE[0]}")/daemons.sh"

install_packages() {
  command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null && return
  install_without_daemons munge slurmctld slurmd slurm-client
}

configure() {
  local host n
  host=$(hostname)
  cat <<CONFIG
ClusterName=test
SlurmctldHost=$host($address)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/controller.pid
SlurmdPidFile=$folder/run/%n.pid
SlurmctldLogFile=$folder/log/controller
SlurmdLogFile=$folder/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=$((memory / cpus / 2))
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1,bf_continue
KillWait=$kill_wait
SlurmctldTimeout=30
SlurmdTimeout=60
EnforcePartLimits=ALL
JobCompType=jobcomp/none
AccountingStorageType=${ACCOUNTING:-accounting_storage/none}
NodeName=n[1-$nodes] NodeHostname=$node_host NodeAddr=$node_address Port=[$((port + 1))-$((port + nodes))] CPUs=$cpus RealMemory=$memory
PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=720 DefaultTime=60 State=UP
PartitionName=short Nodes=n[1-$nodes] MaxTime=5 DefaultTime=5 State=UP
${SETTINGS:-}
CONFIG
}

all_nodes_are_up() {
  [ "$(sinfo --noheader --Node --format='%N %t' | grep -cE ' (idle|mix|alloc)$')" -ge "$nodes" ]
}

start_munge() {
  install_packages
  mkdir -p "$folder"/{state,spool,run,log,munge}
  chmod 755 "$folder" "$folder/munge"
  [ -s "$folder/munge/key" ] || head -c 1024 /dev/urandom >"$folder/munge/key"
  chmod 400 "$folder/munge/key"
  chown -R munge:munge "$folder/munge"
  runs "$folder/munge/pid" || setpriv --reuid=munge --regid=munge --clear-groups munged --force \
    --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
    --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
}

up() {
  start_munge
  # In one step: commands of users may read it meanwhile.
  configure >"$folder/slurm.conf.new"
  mv "$folder/slurm.conf.new" "$folder/slurm.conf"
  # Releases that know the word look for control groups otherwise, which not every root directory has.
  [[ $(slurmd -V) =~ \ (22|23.02) ]] || echo CgroupPlugin=disabled >"$folder/cgroup.conf"
  echo "export SLURM_CONF=$folder/slurm.conf" >"$folder/env"
  . "$folder/env"
  runs "$folder/run/controller.pid" || slurmctld
  local n
  for n in $(seq "$nodes"); do
    mkdir -p "$folder/spool/n$n"
    runs "$folder/run/n$n.pid" || "${node_enter[@]}" slurmd -N "n$n"
  done
  waits 60 all_nodes_are_up || {
    sinfo >&2 || true
    tail -n 5 "$folder/log/controller" >&2
    echo "Slurm is not ready after 60 s" >&2
    exit 1
  }
}

down() {
  local file pid
  for file in "$folder"/run/n*.pid "$folder/run/controller.pid" "$folder/munge/pid"; do
    runs "$file" || continue
    pid=$(cat "$file")
    kill "$pid"
    waits 20 eval "! runs '$file' || ! kill -0 $pid" || kill -KILL "$pid"
  done
}

case "$command" in
  install) install_packages ;;
  up | down | munge | try)
    mkdir -p "$folder"
    folder=$(realpath "$folder")
    case "$command" in
      try) trap down EXIT; up ;;
      munge) start_munge ;;
      *) "$command" ;;
    esac
    ;;
  *) echo "$command: expected up, down, munge, try or install" >&2; exit 2 ;;
esac
