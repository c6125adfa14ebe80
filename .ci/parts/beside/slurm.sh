# Sourced by beside.sh: Slurm, with slurmdbd.
# shellcheck shell=bash disable=SC2034,SC2154
export NODES=4 CPUS=16 MEMORY=4000
reader=()
submission=(sbatch -n 16 -t 5 --wrap 'sleep 1')
start_engine() {
  engines/slurmdbd.sh up "$folder/slurm"
  . "$folder/slurm/env"
}
stop_engine() {
  engines/slurmdbd.sh down "$folder/slurm"
  # Jobs outlive their daemons. Those of this cluster have its settings in their environment.
  local dir
  for dir in /proc/[0-9]*; do
    tr '\0' '\n' 2>/dev/null <"$dir/environ" | grep -qxF "SLURM_CONF=$folder/slurm/slurm.conf" || continue
    kill "${dir#/proc/}" 2>/dev/null || true
  done
  # A step without its controller reports its end for ever, ignores SIGTERM and shows no environment. All in this network are ours.
  [ "$(readlink /proc/self/ns/net)" != "$(readlink /proc/1/ns/net)" ] || return 0
  for dir in /proc/[0-9]*; do
    [ "$(cat "$dir/comm" 2>/dev/null)" = slurmstepd ] || continue
    [ "$(readlink "$dir/ns/net")" = "$(readlink /proc/self/ns/net)" ] || continue
    kill -KILL "${dir#/proc/}" 2>/dev/null || true
  done
}
first_waiting() { squeue --noheader --states=PENDING --format=%A | sed -n 1p; }
stop_controller() { kill "$(cat "$folder/slurm/run/controller.pid")"; }
start_controller() { slurmctld; }
# Prints the name, start and end of each job that has ended, in seconds.
ends() {
  SLURM_TIME_FORMAT=%s sacct --allusers --allocations --noheader --parsable2 --starttime=now-1days --format=JobID,Start,End |
    awk -F'|' '$3 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ { print $1, $2, $3 }'
}
count_requests() {
  echo "== requests as Slurm counts them"
  sdiag | grep -A 12 'statistics by message type'
}
