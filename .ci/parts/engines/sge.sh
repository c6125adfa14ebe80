#!/usr/bin/env bash
# A real Grid Engine on this machine, for tests, in a network namespace of its own, because its master listens on every
# address. Needs root.
#
#   .ci/parts/engines/sge.sh up FOLDER     starts what is not running; then: . FOLDER/env; $SGE_ENTER qsub ..
#   .ci/parts/engines/sge.sh down FOLDER   ends what `up` has started
#
# SLOTS (8) slots in the queue `all.q`. The master listens on PORT (7444) of the namespace SPACE (tollgate-sge).
# Programs outside the namespace are reached by sockets in the file system, not by TCP. SPACE=here: no namespace.
set -euo pipefail
command=${1:?expected up or down} folder=${2:?expected a folder}
slots=${SLOTS:-8} port=${PORT:-7444} space=${SPACE:-tollgate-sge}
# The programs themselves: Debian's commands are scripts around them.
programs=/usr/lib/gridengine

. "$(dirname "${BASH_SOURCE[0]}")/daemons.sh"

install_packages() {
  [ -x $programs/sge_qmaster ] && [ -x $programs/sge_execd ] && [ -x $programs/qsub ] && return
  install_without_daemons gridengine-master gridengine-exec gridengine-client iproute2
}

make_namespace() {
  [ "$space" != here ] || return 0
  [ -e "/run/netns/$space" ] && return
  ip netns add "$space"
  ip -n "$space" link set lo up
  # Names are resolved only if there is an address besides loopback.
  ip -n "$space" link add out type veth peer name in
  ip -n "$space" addr add 10.98.0.1/24 dev out
  ip -n "$space" link set out up
  ip -n "$space" link set in up
}

# A cell of its own. The data base of the package, as its installation leaves it, has the first manager: root.
make_cell() {
  local cell=$folder/cell/default/common
  mkdir -p "$cell" "$folder"/{master,hosts,database,run}
  ln -sfn "$(readlink -f /var/lib/gridengine/util)" "$folder/cell/util"
  ln -sfn "$(readlink -f /var/lib/gridengine/utilbin)" "$folder/cell/utilbin"
  cp -a /var/spool/gridengine/spooldb/. "$folder/database/"
  cat >"$cell/bootstrap" <<BOOTSTRAP
admin_user sgeadmin
default_domain none
ignore_fqdn false
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params $folder/database
binary_path /usr/sbin
qmaster_spool_dir $folder/master
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
BOOTSTRAP
  hostname >"$cell/act_qmaster"
  # The namespace resolves its address to another name than the host's.
  echo "$(hostname) localhost runsc" >"$cell/host_aliases"
  chown -R sgeadmin:sgeadmin "$folder"/{cell,master,hosts,database}
}

master_answers() { $SGE_ENTER timeout 5 qconf -sh; }
queue_is_ready() { $SGE_ENTER timeout 5 qstat -f | awk '$1 ~ /^all.q@/ && NF == 5 { up = 1 } END { exit !up }'; }

# settings NAME VALUE..: replaces lines of a configuration on standard input.
settings() {
  local lines
  lines=$(cat)
  while [ $# -gt 0 ]; do
    lines=$(sed -E "s#^$1 .*#$1 $2#" <<<"$lines")
    shift 2
  done
  printf '%s\n' "$lines"
}

make_queue() {
  local host limit
  host=$(hostname)
  cd "$folder/run"
  $SGE_ENTER qconf -as "$host"
  $SGE_ENTER qconf -ah "$host" || true
  # Settings that go on over several lines are joined first.
  $SGE_ENTER qconf -sconf global | sed -E ':a;/\\$/{N;s/\\\n *//;ba}' | settings execd_spool_dir "$folder/hosts" \
    mailer /bin/true shell_start_mode unix_behavior min_uid 0 min_gid 0 load_report_time 00:00:02 \
    shepherd_cmd $programs/sge_shepherd gid_range 65300-65400 \
    reporting_params 'accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00' >global
  $SGE_ENTER qconf -Mconf global
  $SGE_ENTER qconf -ssconf | settings schedule_interval 0:0:1 flush_submit_sec 1 flush_finish_sec 1 \
    job_load_adjustments NONE load_adjustment_decay_time 0:0:0 >scheduler
  $SGE_ENTER qconf -Msconf scheduler
  cat >environment <<ENVIRONMENT
pe_name smp
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule \$pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
ENVIRONMENT
  $SGE_ENTER qconf -Ap environment || true
  {
    echo "qname all.q
hostlist $host
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH INTERACTIVE
ckpt_list NONE
pe_list smp
rerun FALSE
slots $slots
tmpdir /tmp
shell /bin/sh
prolog NONE
epilog NONE
shell_start_mode unix_behavior
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:10
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
s_rt INFINITY
h_rt 12:00:00"
    for limit in cpu fsize data stack core rss vmem; do printf 's_%s INFINITY\nh_%s INFINITY\n' $limit $limit; done
  } >queue
  $SGE_ENTER qconf -Aq queue
}

up() {
  install_packages
  make_namespace
  [ -e "$folder/cell/default/common/bootstrap" ] || make_cell
  local enter="nsenter --net=/run/netns/$space"
  [ "$space" != here ] || enter=
  cat >"$folder/env" <<ENV
export SGE_ROOT=$folder/cell SGE_CELL=default SGE_CLUSTER_NAME=test SGE_QMASTER_PORT=$port SGE_EXECD_PORT=$((port + 1))
export PATH=$programs:\$PATH SGE_ENTER="$enter"
ENV
  . "$folder/env"
  # The master reserves memory for every file that it might open.
  ulimit -n 1024
  runs "$folder/master/qmaster.pid" || $SGE_ENTER sge_qmaster
  waits 30 master_answers || { tail -n 5 "$folder/master/messages" >&2; echo "the master does not answer" >&2; exit 1; }
  $SGE_ENTER qconf -sq all.q >/dev/null 2>&1 || make_queue >"$folder/run/log" 2>&1 || { tail "$folder/run/log" >&2; exit 1; }
  runs "$(echo "$folder"/hosts/*/execd.pid)" || $SGE_ENTER sge_execd
  waits 60 queue_is_ready || { $SGE_ENTER qstat -f >&2; echo "the queue is not ready after 60 s" >&2; exit 1; }
}

down() {
  local file pid
  for file in "$folder"/hosts/*/execd.pid "$folder/master/qmaster.pid"; do
    runs "$file" || continue
    pid=$(cat "$file")
    kill "$pid"
    waits 30 eval "! kill -0 $pid" || kill -KILL "$pid"
  done
}

mkdir -p "$folder"
folder=$(realpath "$folder")
case "$command" in
  up | down) "$command" ;;
  *) echo "$command: expected up or down" >&2; exit 2 ;;
esac
