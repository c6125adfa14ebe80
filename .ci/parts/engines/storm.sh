#!/usr/bin/env bash
# A session on a real Slurm under kills, pilots of the shortest time limit, and the share of the cores that short tasks get.
# Needs root, and installs the engine.
#
#   .ci/parts/engines/storm.sh PROGRAM FOLDER [TASKS]
#
# PROGRAM is the built tollgate; FOLDER keeps the engine, the session and what they write. The session is that of OWNER
# (nobody). TASKS (1000): the number of tasks under kills. TOLLGATE_KILLS (40): the number of kills at least.
# TOLLGATE_SEED: the seed of the moments. TOLLGATE_ENDS (12): the pilots that reach their time limit.
# TOLLGATE_STORM (kills ends share): what is tried.
set -euo pipefail
program=$(realpath "$1") tasks=${3:-1000} owner=${OWNER:-nobody}
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=$folder/run
kills=${TOLLGATE_KILLS:-40} ends=${TOLLGATE_ENDS:-12} seed=${TOLLGATE_SEED:-$((SRANDOM % 32768))}
# Ports of its own, beside a cluster that another test uses.
export PORT=${PORT:-7960}

prepare() {
  # Also what an earlier engine knew of its jobs.
  rm -rf "$home" "$folder/slurm"
  mkdir -p "$home/bin" "$home/marks" "$home/nodes"
  chmod 755 "$folder" "$home"
  cp "$program" "$home/bin/tollgate"
  cp "$here/storm.sh" "$home"
  chmod 755 "$home/storm.sh"
  cat >"$home/task.sh" <<'TASK'
# Writes a line at its start and another at its end, and names each earlier attempt that still runs. It ignores what asks it
# to end.
trap '' TERM INT USR1 USR2
task=$TOLLGATE_JOB.${TOLLGATE_TASK:-0}
while read -r mark try _ _ pid _; do
  [ "$mark" = begin ] || continue
  grep -qsz "^TOLLGATE_ATTEMPT=$task.$try\$" "/proc/$pid/environ" && echo "$task $try $TOLLGATE_TRY" >>beside
done 2>/dev/null <"marks/$task"
say() { echo "$1 $TOLLGATE_TRY $(uname -n) $TOLLGATE_WORKER $$ $(date +%s%N)" >>"marks/$task"; }
say begin
sleep "$1"
say end
TASK
  mkfifo "$home/controller"
  helpers=
  trap down EXIT
  "$here/slurm.sh" up "$folder/slurm"
  chown -R "$owner" "$home"
  . "$folder/slurm/env"
  controllers &
  helpers=$!
  operator &
  helpers+=" $!"
  setpriv "--reuid=$owner" "--regid=$(id -g "$owner")" --clear-groups \
    env PREPARED=yes "TOLLGATE_SEED=$seed" "$home/storm.sh" "$home/bin/tollgate" "$folder" "$tasks"
}

# Kills Slurm's controller whenever the user asks for it, and starts it after the seconds that the user says.
controllers() {
  local seconds
  while read -r seconds <"$home/controller"; do
    kill -KILL "$(cat "$folder/slurm/run/controller.pid")"
    sleep "$seconds"
    "$here/slurm.sh" up "$folder/slurm"
    echo "$seconds" >>"$home/controllers"
  done
}

# Resumes nodes as an operator does. A controller that is killed has forgotten the latest jobs, gives their numbers again, and
# drains the node that still runs a job of this number.
operator() {
  while sleep 1; do
    scontrol update NodeName=n[1-2] State=RESUME >/dev/null 2>&1 || true
  done
}

down() {
  local pid
  # shellcheck disable=SC2086
  [ -z "$helpers" ] || kill $helpers 2>/dev/null || true
  for pid in $(pgrep -f "^$home/bin/tollgate "); do kill -KILL "$pid" || true; done
  "$here/slurm.sh" down "$folder/slurm"
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

# start NAME POLICY PILOTS TIME: a session with this number of pilots of one core.
start() {
  tollgate site remove "$site" >/dev/null 2>&1 || true
  site=$1
  tollgate site add "$site" --engine slurm --pilots "$3" --at-most "$3" --time "$4" --dir "$home/nodes" \
    --program "$home/bin/tollgate" >/dev/null 2>&1
  tollgate session start --name "$1" --policy "$2" --listen "127.0.0.1:$((PORT + 11000))" --detached 2>/dev/null
  export TOLLGATE_DATA=$home/.local/state/tollgate-sessions/$1/data
}

# Ends the session, and looks for what it has left.
finish() {
  tollgate session exit "$site" "$@"
  local left
  left=$(squeue --noheader --me --format=%A,%j,%T | grep -v COMPLETING || true)
  [ -z "$left" ] || { echo "jobs are left: $left" >&2; return 1; }
  ! pgrep -a -f "^($home/bin/tollgate |sh $home/task.sh)" >&2
}

# The processes of this program that run a command.
processes() { pgrep -f "^$home/bin/tollgate (__detached )?$1( |\$)" || true; }

# attach: starts what is missing, as a user does who looks at the session.
attach() {
  local pid end=$((SECONDS + 60))
  tollgate session attach "$site" --read-only </dev/null >>attach.log 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    tollgate session detach "$site" >/dev/null 2>&1 || true
    [ "$SECONDS" -lt "$end" ] || { kill "$pid"; echo "attach does not return" >&2; return 1; }
    sleep 0.2
  done
  wait "$pid"
}

# one WORD..: one of the words.
one() {
  [ $# = 0 ] || { shift $((RANDOM % $#)); echo "$1"; }
}

# Half of the tasks as single jobs; the numbers of those that were acknowledged are in `told`.
submit_singles() {
  local n=0 job
  while [ "$n" -lt $((tasks - tasks / 2)) ]; do
    if job=$(tollgate submit --quiet --requeue --estimate 3s --output none -- sh "$home/task.sh" "$((n % 2)).5" 2>>submit.log); then
      echo "$job" >>told
      n=$((n + 1))
    fi
    sleep 0.1
  done
}

# books: a line for each task: task, state, attempts, end in seconds since 1970, status.
books() {
  local job
  tollgate jobs --all --limit 10000 --format json >books.json
  for job in $(sed -n '/^      "id"/{h;n;/"array"/{g;s/[^0-9]//g;p}}' books.json); do
    tollgate jobs "$job" --limit 10000 --format json
  done | cat books.json - | awk '
    function flush() { if (id != "" && !array) print id "." task, state, attempts, at, status; id = "" }
    { value = $0; sub(/^ *"[a-z_]*": "?/, "", value); sub(/"?,?$/, "", value) }
    /^      "id"/ { flush(); id = value; task = 0; array = 0; attempts = 0; at = "1970-01-01T00:00:00Z"; status = "-" }
    /^      "array"/ { array = 1 }
    /^      "task"/ { task = value }
    /^      "state"/ { state = value }
    /^      "attempts"/ { attempts = value }
    /^      "finished_at"/ { at = value }
    /^      "status"/ { status = value }
    END { flush() }' >books.new
  # One process for all times.
  paste -d' ' <(cut -d' ' -f1-3 books.new) <(cut -d' ' -f4 books.new | date -f - +%s.%N) <(cut -d' ' -f5- books.new)
}

# Compares the books with the marks, and says what is wrong.
audit() {
  books >books
  local task
  for task in $(cat told 2>/dev/null); do
    grep -q "^$task\.0 " books || echo "job $task was acknowledged and is missing"
  done
  awk '{ if (seen[$1]++) print $1 " is there twice"
         if ($2 != "finished" || $5 " " $6 != "exit 0") print "in the books: " $0 }' books
  awk '
    function wrong(text) { print task ": " text }
    FILENAME == "books" { tries[$1] = $3; end[$1] = $4; next }
    { task = FILENAME; sub(/.*\//, "", task); at = $6 / 1e9 }
    !(task in tries) { wrong("an attempt of no task"); next }
    $1 == "begin" {
      if (begun[task, $2]++) wrong("attempt " $2 " began twice")
      if ($2 > tries[task]) wrong("attempt " $2 " is not in the books")
      if (at < last[task]) wrong("attempt " $2 " began before an earlier one ended")
    }
    $1 == "end" {
      if (ended[task, $2]++) wrong("attempt " $2 " ended twice")
      if (at > last[task]) last[task] = at
    }
    # The books have microseconds.
    at > end[task] + 0.000001 { wrong("attempt " $2 ": " $1 " at " at ", after the booked end " end[task]) }
    END { for (task in tries) if (!((task, tries[task]) in ended)) wrong("no end of attempt " tries[task]) }' books marks/*
  [ ! -e beside ] || sed 's/^/ran beside a later attempt: /' beside
}

# Kills at random moments, and starts again, until there were enough kills.
storm() {
  local sets=(service worker keep controller pilot service+worker service+keep worker+controller) done=0 round=0 set target pid asked=0
  declare -gA killed=()
  while [ "$done" -lt "$kills" ]; do
    sleep "$((RANDOM % 4)).$((RANDOM % 10))"
    set=${sets[round % ${#sets[@]}]}
    round=$((round + 1))
    for target in ${set//+/ }; do
      case "$target" in
        controller)
          echo $((RANDOM % 4)) >controller
          asked=$((asked + 1))
          pid=yes
          ;;
        service) pid=$(one $(processes serve)) ;;
        keep) pid=$(one $(processes 'site keep')) ;;
        worker) pid=$(one $(processes worker)) ;;
        # The whole process group, as Grid Engine does at its limits.
        pilot)
          pid=$(one $(processes worker))
          [ -z "$pid" ] || pid=-$(ps -o pgid= -p "$pid" | tr -d ' ')
          ;;
      esac
      [ -n "$pid" ] && { [ "$pid" = yes ] || kill -KILL -- "$pid" 2>/dev/null; } || continue
      echo "$EPOCHREALTIME $target $pid" >>kills.log
      killed[$target]=$((${killed[$target]:-0} + 1))
      done=$((done + 1))
    done
    case "$set" in *service* | *keep*) attach ;; esac
  done
  # The controller is there again after each of its kills.
  waits 120 "^$asked\$" eval 'wc -l <controllers'
}

load() { cut -d' ' -f1 /proc/loadavg; }

kills() {
  local singles wrong began=$SECONDS
  echo "seed $seed"
  RANDOM=$seed
  start storm plan 8 5m
  waits 60 'storm.* connected' tollgate nodes
  tollgate submit --quiet --array "1-$((tasks / 2))" --requeue --estimate 3s --output none -- \
    sh -c "exec sh $home/task.sh \$((TOLLGATE_TASK % 2)).5" >/dev/null
  submit_singles &
  singles=$!
  storm
  wait "$singles"
  until [ "$(tollgate jobs --quiet --limit 10000 | wc -l)" = 0 ]; do
    [ $((SECONDS - began)) -lt 1800 ] || { echo "tasks have not ended after 30 minutes:" >&2; tollgate jobs >&2; break; }
    sleep 1
  done
  audit >wrong
  finish
  wrong=$(wc -l <wrong)
  echo "kills: $(for target in "${!killed[@]}"; do echo -n "$target ${killed[$target]}, "; done)in $((SECONDS - began)) s:" \
    "$(wc -l <books) tasks, $(grep -c ' finished ' books) finished, $(awk '{ n += $3 } END { print n }' books) attempts," \
    "$(cat marks/* | grep -c '^end') ran to their end, $wrong wrong; load $(load)"
  [ "$wrong" = 0 ] || { head -n 20 wrong >&2; return 1; }
}

# Tasks whose run time is known, on pilots whose end is known: none is interrupted.
ends() {
  local wrong began=$SECONDS
  rm -rf marks/* told beside
  start ends plan 4 1m
  tollgate submit --quiet --array 1-1000 --requeue --estimate 6s --output none -- sh "$home/task.sh" 5 >/dev/null
  until [ "$(cat marks/* 2>/dev/null | cut -d' ' -f4 | sort -u | wc -l)" -ge $((ends + 4)) ]; do
    [ $((SECONDS - began)) -lt $((120 + ends * 30)) ] || { echo "too few pilots" >&2; tollgate session agents >&2; return 1; }
    sleep 1
  done
  # What runs, ends.
  tollgate hold 1 >/dev/null
  waits 60 '^0$' eval 'tollgate jobs --state running --quiet | wc -l'
  books >books
  finish --force
  wrong=$(awk '$3 > 1 || $2 == "lost"' books | wc -l)
  echo "known ends: $(cat marks/* | cut -d' ' -f4 | sort -u | wc -l) pilots of 1 min in $((SECONDS - began)) s:" \
    "$(grep -c ' finished ' books) tasks of 5 s finished, $wrong with more than one attempt; load $(load)"
  [ "$wrong" = 0 ]
}

# share POLICY: of the time of the pilots' cores that tasks of 2 s get, over 40 s.
share() {
  local pilots=4 from
  rm -rf marks/* told beside
  start "share-$1" "$1" $pilots 10m
  for from in $(seq $pilots); do waits 60 "share-$1.$from .*connected" tollgate nodes; done
  tollgate submit --quiet --array 1-400 --requeue --estimate 2s --output none -- sh "$home/task.sh" 2 >/dev/null
  waits 60 '^begin' eval 'cat marks/*'
  sleep 5
  from=$EPOCHREALTIME
  sleep 40
  # The time from end to end of the tasks of a pilot has no error of a whole task.
  cat marks/* | awk -v policy="$1" -v from="$from" -v pilots=$pilots -v now="$(load)" '
    { at = $6 / 1e9 }
    $1 == "end" && at > from && at <= from + 40 {
      n[$4]++
      if (!($4 in first) || at < first[$4]) first[$4] = at
      if (at > last[$4]) last[$4] = at
    }
    END {
      for (pilot in n) { tasks += n[pilot]; share += 2 * (n[pilot] - 1) / (last[pilot] - first[pilot]) / pilots }
      printf "share of %d cores, %s: %d tasks of 2 s in 40 s, %.1f %% of what is possible; load %s\n", pilots, policy, tasks, share * 100, now
    }'
  finish --force >/dev/null
}

run() {
  cd "$home"
  export HOME=$home PATH=$home/bin:$PATH XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA=
  . "$folder/slurm/env"
  site=none
  local part
  for part in ${TOLLGATE_STORM:-kills ends share}; do
    case "$part" in
      kills | ends) "$part" ;;
      share)
        share plan
        share easy
        ;;
      *) echo "$part: expected kills, ends or share" >&2; return 2 ;;
    esac
  done
}

if [ -n "${PREPARED:-}" ]; then
  run
else
  prepare
fi
