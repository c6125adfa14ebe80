# Sourced by beside.sh: HTCondor, in a root directory of its own. Its commands are found by programs outside.
# shellcheck shell=bash disable=SC2034,SC2154
export CPUS=64 MEMORY=64000
cat >"$folder/job.sub" <<SUBMIT
executable = /bin/sleep
arguments = 1
request_cpus = 16
allowed_execute_duration = 300
queue
SUBMIT
submission=(condor_submit "$folder/job.sub")
start_engine() {
  # The root directory is kept for the next time.
  condor=${CONDOR_FOLDER:-$folder/htcondor}
  engines/htcondor.sh up "$condor"
  . "$condor/env"
  local user program
  for user in "${users[@]}"; do
    chroot "$condor/root" id "$user" >/dev/null 2>&1 || chroot "$condor/root" useradd --no-create-home "$user"
  done
  mkdir -p "$folder/bin"
  for program in condor_q condor_history condor_config_val condor_status; do
    printf '#!/bin/sh\nexec chroot %s /usr/bin/%s "$@"\n' "$condor/root" "$program" >"$folder/bin/$program"
    chmod +x "$folder/bin/$program"
  done
  export CONDOR_ROOT=$condor/root PATH=$folder/bin:$PATH
  reader=(env)
}
stop_engine() { engines/htcondor.sh down "$condor"; }
first_waiting() { condor_q -allusers -constraint 'JobStatus == 1' -af:j ClusterId | awk '!found++ { print $1 }'; }
stop_controller() {
  local pid
  pid=$(cat "$condor/root/run/condor/master.pid")
  kill -QUIT "$pid"
  waits 30 eval "! kill -0 $pid"
}
start_controller() { engines/htcondor.sh up "$condor"; }
# Prints the name, start and end of each job that has ended, in seconds.
ends() { condor_history -constraint 'JobStatus == 4' -af:j JobStartDate CompletionDate; }
count_requests() { :; }
