# Sourced by beside.sh: Grid Engine, in a network namespace of its own. The follower is that of a user without rights.
# shellcheck shell=bash disable=SC2034,SC2154
export SLOTS=64
submission=(qsub -pe smp 16 -l h_rt=0:5:0 -b y sleep 1)
start_engine() {
  engines/sge.sh up "$folder/sge"
  . "$folder/sge/env"
  read -ra reader <<<"$SGE_ENTER setpriv --reuid=anna --regid=anna --clear-groups env HOME=/tmp"
}
stop_engine() { engines/sge.sh down "$folder/sge"; }
first_waiting() { $SGE_ENTER qstat -s p -u '*' | awk '$1 ~ /^[0-9]+$/ && $5 == "qw" && !found++ { print $1 }'; }
stop_controller() {
  local pid
  pid=$(cat "$folder/sge/master/qmaster.pid")
  kill "$pid"
  waits 30 eval "! kill -0 $pid"
}
start_controller() { engines/sge.sh up "$folder/sge"; }
# Prints the name, start and end of each job that has ended, in seconds.
ends() {
  awk -F: '!/^#/ && $10 > 0 { print $36 == 0 ? $6 : $6 "." $36, $10, $11 }' "$folder/sge/cell/default/common/accounting"
}
count_requests() { :; }
