#!/usr/bin/env bash
# `tollgate session start --inside` on a real engine: ten jobs of a personal scheduler run on two pilots, and when the
# session has ended, no process and no pilot is left. Needs root, and installs scheduler and engine.
#
#   .ci/parts/engines/inside.sh slurm|htcondor PROGRAM FOLDER [slurm|sge|local]
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the session and what they write. The last word is the engine of
# the site (slurm). Session and pilots run as OWNER (nobody). For HTCondor, all of it runs in the root directory that
# htcondor.sh makes, the site's Slurm too, as the user `tester`.
set -euo pipefail
inside=$1 program=$2 site=${4:-slurm} owner=${OWNER:-nobody}
mkdir -p "$3"
folder=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

prepare() {
  local enter=(setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups)
  rm -rf "$folder/run"
  mkdir -p "$folder/run/bin"
  chmod 755 "$folder" "$folder/run"
  cp "$program" "$folder/run/bin/tollgate"
  cp "$here/inside.sh" "$here/slurm.sh" "$here/daemons.sh" "$folder/run"
  export PORT=7960 SHARE=$folder
  case "$inside" in
    slurm)
      [ "$site" = local ] || "$here/$site.sh" up "$folder/$site"
      trap '[ "$site" = local ] || "$here/$site.sh" down "$folder/$site"' EXIT
      command -v slurmctld >/dev/null || "$here/slurm.sh" install
      if [ "$site" = sge ]; then
        . "$folder/sge/env"
        # shellcheck disable=SC2206
        enter=($SGE_ENTER "${enter[@]}")
      fi
      ;;
    htcondor)
      [ "$site" != sge ] || { echo "HTCondor over Grid Engine: not on one machine" >&2; exit 2; }
      PORT=7950 "$here/htcondor.sh" up "$folder/htcondor"
      trap '"$here/htcondor.sh" down "$folder/htcondor"' EXIT
      . "$folder/htcondor/env"
      read -ra enter <<<"$CONDOR_ENTER"
      local root=$folder/htcondor/root
      owner=$(chroot "$root" id -u tester)
      if [ "$site" = slurm ]; then
        cp /etc/resolv.conf "$root/etc/"
        mkdir -p "$folder/slurm"
        chroot "$root" "$folder/run/slurm.sh" up "$folder/slurm"
        trap 'chroot "$folder/htcondor/root" "$folder/run/slurm.sh" down "$folder/slurm"; "$here/htcondor.sh" down "$folder/htcondor"' EXIT
      fi
      ;;
  esac
  chown -R "$owner" "$folder/run"
  "${enter[@]}" env PREPARED=yes "$folder/run/inside.sh" "$inside" "$folder/run/bin/tollgate" "$folder" "$site"
}

# waits PROBLEM COMMAND..: until the command succeeds, for at most two minutes.
waits() {
  local problem=$1 end=$((SECONDS + 120))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { echo "$problem within two minutes" >&2; tollgate session agents >&2; return 1; }
    sleep 0.2
  done
}

submit() {
  case "$inside" in
    slurm)
      local n
      for n in $(seq 10); do
        sbatch --quiet --time=1 --output="out.%j" --wrap 'echo "$SLURMD_NODENAME"; srun --ntasks=1 sleep 0.5'
      done
      ;;
    htcondor)
      printf '#!/bin/sh\ngrep "^Name " "$_CONDOR_MACHINE_AD"\nsleep 0.5\n' >job.sh
      chmod 755 job.sh
      printf '%s\n' 'executable = job.sh' 'output = out.$(Process)' 'request_memory = 50' 'request_disk = 1' \
        'queue 10' >job.submit
      condor_submit -terse job.submit
      ;;
  esac
}
is_over() {
  case "$inside" in
    slurm) [ -z "$(squeue --noheader)" ] ;;
    htcondor) [ -z "$(condor_q -af ClusterId)" ] ;;
  esac
}
queue() {
  case "$site" in
    slurm) squeue --noheader --me --format='%A %j %T' | { grep -v COMPLETING || true; } ;;
    sge) qstat ;;
    local) ;;
  esac
}
# The daemons of this user. Those of the engine have other users.
daemons() { ps -u "$(id -u)" -o pid=,stat=,args= | awk '$2 !~ /Z/' | grep -E '(slurmd|slurmctld|slurmstepd|munged|condor_[a-z]+|tollgate)( |:|$)' | grep -vE 'grep|inside.sh' || true; }

run() {
  cd "$folder/run"
  export HOME=$folder/run PATH=$folder/run/bin:$PATH XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA= SHELL=/bin/sh
  case "$site" in slurm | sge) . "$folder/$site/env" ;; local) ;; esac
  tollgate site add here --engine "$site" --pilots 2 --time 10m --idle 1m
  trap 'tollgate session exit trial --force || true' EXIT
  tollgate session start --inside "$inside" --address 127.0.0.1 --name trial --detached
  (
    . .local/state/tollgate-sessions/trial/env
    submit
    waits "the jobs do not end" is_over
    tollgate session agents
  )
  cat out.*
  [ "$(cat out.* | grep -cE 'here-[0-9]+')" = 10 ] || { echo "jobs did not run on pilots" >&2; return 1; }
  trap - EXIT
  tollgate session exit trial
  [ -z "$(queue)" ] || { echo "pilots are left:" >&2; queue >&2; return 1; }
  [ -z "$(daemons)" ] || { echo "processes are left:" >&2; daemons >&2; return 1; }
}

if [ -n "${PREPARED:-}" ]; then
  run
else
  prepare
  echo "$inside in pilots of $site: all is well"
fi
