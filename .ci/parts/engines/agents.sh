#!/usr/bin/env bash
# Pilots that move between the queues of four real sites: the experiment of Walker (2009), Figures 9 and 10, scaled. One site is
# full of other people's jobs that come and go; one-second jobs are counted with moves and without. Then moves while a tenth of
# the messages between agents is lost and agents are killed in the middle of transfers. Needs root, and installs the engines.
#
#   .ci/parts/engines/agents.sh PROGRAM FOLDER [SECONDS [RUNS]]
#
# PROGRAM is the built tollgate; FOLDER keeps the engines and what they write, and `results`: jobs.csv, pilots.csv, runs.csv. All
# parents of FOLDER must be root's own. SECONDS (600): the length of a run. RUNS (3): runs with and without moves.
# TOLLGATE_AGENTS (gain faults): what is tried. OWNER (agents), FOUR_PORT (8130), AGENT_PORT (18800): another user and ports, for
# two experiments at once.
set -euo pipefail
program=$(realpath "$1") user=${OWNER:-agents} seconds=${3:-600} runs=${4:-3}
mkdir -p "$2"
folder=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=$folder/run
# Engines of their own, beside those of another test.
export FOUR_PORT=${FOUR_PORT:-8130} SPACE=tollgate-$user PORT=7544
. "$here/four.sh"
sites="north south east west" pilots=6 period=10s life=2m
agent_port=${AGENT_PORT:-18800}

# Other people's jobs, as the user asks for them: `full` keeps more than a hundred of them waiting behind those that run at north,
# `free` ends those that wait. Each takes half a minute to a minute and a half.
crowd() {
  local word=free waiting
  while sleep 2; do
    read -r word <"$home/crowd" || word=free
    waiting=$(squeue --noheader --array --user=root --states=PENDING --format=%A 2>/dev/null | wc -l) || continue
    case "$word" in
      full)
        [ "$waiting" -gt 100 ] ||
          sbatch --array=1-50 --job-name=other --time=3 --output=/dev/null --wrap='sleep $((30 + $(od -An -N1 -tu1 /dev/urandom) % 60))' >/dev/null 2>&1 || true
        ;;
      *) [ "$waiting" = 0 ] || scancel --user=root --state=PENDING || true ;;
    esac
  done
}

# Says how full north is, from the part of the run that is over: full, but free for a tenth of the time in the middle.
crowd_by() {
  awk -v now="$EPOCHREALTIME" -v began="$1" -v length_s="$seconds" 'BEGIN {
    part = (now - began) / length_s
    word = "full"
    if (part > 0.45 && part < 0.55) word = "free"
    print word }' >crowd.new
  mv crowd.new crowd
}

# sample RUN BEGAN: a line for each site: run, seconds, site, wanted, running, waiting.
sample() {
  tollgate session agents four --format json 2>/dev/null | awk -v run="$1" -v at="$(awk -v now="$EPOCHREALTIME" -v began="$2" 'BEGIN { printf "%.1f", now - began }')" '
    { value = $2; gsub(/[",]/, "", value) }
    /^  "sites"/ { exit }
    /^        "site"/ { site = value }
    /^          "wanted"/ { wanted = value; running = "" }
    /^          "running"/ { running = value }
    /^          "pending"/ { print run "," at "," site "," wanted "," running "," value }'
}

# ends RUN BEGAN: the seconds at which tasks ended: run, second, tasks that ended in it.
ends() {
  local first
  # An answer has ten thousand tasks at most.
  for first in $(seq 1 10000 $((seconds * 40))); do
    tollgate jobs "1_$first-$((first + 9999))" --limit 10000 --format json
  done >jobs.json
  sed -n 's/^ *"finished_at": "\(.*\)",*$/\1/p' jobs.json | date -f - +%s.%N |
    awk -v run="$1" -v began="$2" -v length_s="$seconds" '
      $1 >= began && $1 < began + length_s { n[int($1 - began)]++ }
      END { for (second = 0; second < length_s; second++) print run "," second "," n[second] + 0 }'
}

# start_session moves|none: with the policy that a user gets who names none, or without moves.
start_session() {
  local move=--move
  [ "$1" = moves ] || move=--move=none
  tollgate session start --name four "$move" --move-every $period --listen "127.0.0.1:$((agent_port + 50))" --detached 2>/dev/null
}

in_queues() { queues | grep -cE '^ *[0-9]' || true; }

# Waits until the agents have as many pilots as at the start, none of which is on its way, and the queues have them, too.
quiet() {
  local end=$((SECONDS + 120)) wanted there
  while :; do
    sample quiet "$EPOCHREALTIME" >quiet.csv
    wanted=$(awk -F, '{ n += $4 } END { print n + 0 }' quiet.csv)
    there=$(in_queues)
    [ "$wanted" != 24 ] || [ "$there" != 24 ] || return 0
    [ "$SECONDS" -lt "$end" ] || { echo "pilots are not conserved: $wanted wanted, $there in the queues" >&2; cat quiet.csv >&2; return 1; }
    sleep 1
  done
}

moves() { cat .local/state/tollgate-sessions/four/agents/*/log 2>/dev/null | grep -c ' gave a pilot ' || true; }

# measure RUN: counts the tasks that end within the time, and prints the numbers.
measure() {
  local run=$1 began tasks
  echo full >crowd
  local n
  export TOLLGATE_DATA=$home/.local/state/tollgate-sessions/four/data
  for n in south east west; do waits 60 "$n.[0-9]* .*connected" tollgate nodes; done
  tollgate submit --quiet --array "1-$((seconds * 40))" --requeue --estimate 1s --output none -- sleep 1 >/dev/null
  began=$EPOCHREALTIME
  while awk -v now="$EPOCHREALTIME" -v began="$began" -v length_s="$seconds" 'BEGIN { exit !(now - began < length_s) }'; do
    crowd_by "$began"
    sample "$run" "$began" >>results/pilots.csv
    [ ! -e chaos ] || . ./chaos
    sleep 4
  done
  ends "$run" "$began" >>results/jobs.csv
  tasks=$(awk -F, -v run="$run" '$1 == run { n += $3 } END { print n }' results/jobs.csv)
  echo "$run,$tasks,$(moves),$(cut -d' ' -f1 /proc/loadavg)" | tee -a results/runs.csv
}

gain() {
  local n policy
  for n in $(seq "$runs"); do
    for policy in none moves; do
      rm -f chaos
      echo full >crowd
      sleep 10
      start_session $policy
      measure "$policy-$n"
      quiet
      if grep -h ' gave a pilot .* 0 of them wait' .local/state/tollgate-sessions/four/agents/*/log >&2; then
        echo "a donor kept none in its queue" >&2
        return 1
      fi
      mkdir -p "results/logs-$policy-$n"
      for site in $sites; do cp ".local/state/tollgate-sessions/four/agents/$site/log" "results/logs-$policy-$n/$site"; done
      tollgate session exit four --force --forget
      [ "$(in_queues)" = 0 ] || { echo "jobs are left:" >&2; queues >&2; return 1; }
    done
  done
  awk -F, '{ split($1, name, "-"); n[name[1]] += $2 } END {
    printf "jobs with moves: %d, without: %d, gain %.1f %%\n", n["moves"], n["none"], 100 * (n["moves"] / n["none"] - 1)
    exit !(n["moves"] >= 1.15 * n["none"]) }' results/runs.csv
}

# The process of the agent of a site.
agent_process() { cat ".local/state/tollgate-sessions/four/agents/$1/lock" 2>/dev/null || true; }

# start_agent SITE: as a user does on the site's own host.
start_agent() {
  local at=0 site
  for site in $sites; do [ "$site" = "$1" ] && break; at=$((at + 1)); done
  TOLLGATE_SITES=$home/agent-sites/$1 tollgate site agent ".local/state/tollgate-sessions/four/agents/$1" \
    --listen "127.0.0.1:$((agent_port + 10 + at))" >>"agent-sites/$1.log" 2>&1 &
}

# proxies LOSS: between the agents, in place of those of before.
proxies() {
  local at pairs=()
  [ ! -e proxy.pid ] || kill "$(cat proxy.pid)" 2>/dev/null || true
  for at in 0 1 2 3; do pairs+=("$((agent_port + at))=$((agent_port + 10 + at))"); done
  python3 lossy.py "$1" 0.05 "${pairs[@]}" >>lost &
  echo $! >proxy.pid
}

# Kills the agent of each site of which a pilot is on its way, as often as it is seen, and starts it again two seconds later.
killer() {
  local site pid before now
  declare -A seen=()
  while [ ! -e no-more-kills ]; do
    for site in $sites; do
      now=$(grep -cE '"type":"(given|added)"' ".local/state/tollgate-sessions/four/agents/$site/journal" 2>/dev/null || true)
      now=${now:-0}
      before=${seen[$site]:-0}
      seen[$site]=$now
      [ "$now" -gt "$before" ] && [ $((RANDOM % 3)) = 0 ] || continue
      pid=$(agent_process "$site")
      kill -KILL "$pid" 2>/dev/null && echo "$EPOCHREALTIME $site $pid" >>kills || continue
      sleep 2
      start_agent "$site"
    done
    sleep 0.02
  done
}

faults() {
  local at=0 site killing
  rm -rf lost kills no-more-kills agent-sites
  mkdir -p agent-sites
  cp "$home/.config/tollgate/sites.toml" sites.toml
  for site in $sites; do
    mkdir -p "agent-sites/$site"
    sed -i "/^name = \"$site\"$/a agent = \"127.0.0.1:$((agent_port + at))\"" .config/tollgate/sites.toml
    at=$((at + 1))
  done
  proxies 0.1
  echo full >crowd
  start_session moves
  export TOLLGATE_DATA=$home/.local/state/tollgate-sessions/four/data
  for site in $sites; do start_agent "$site"; done
  killer &
  killing=$!
  measure faults
  touch no-more-kills
  wait $killing
  proxies 0
  for site in $sites; do [ -e "/proc/$(agent_process "$site")" ] || start_agent "$site"; done
  quiet
  echo "faults: $(wc -l <lost) messages lost, $(wc -l <kills) agents killed in a transfer," \
    "$(cat agent-sites/*.log | grep -c ' gave a pilot ' || true) pilots moved, all 24 are there"
  [ "$(wc -l <lost)" -gt 0 ] && [ "$(wc -l <kills)" -gt 0 ]
  mkdir -p results/logs-faults
  for site in $sites; do cp "agent-sites/$site.log" "results/logs-faults/$site"; done
  cp kills results/kills.txt
  tollgate session exit four --force --forget
  kill "$(cat proxy.pid)"
  cp sites.toml .config/tollgate/sites.toml
  [ "$(in_queues)" = 0 ] || { echo "jobs are left:" >&2; queues >&2; return 1; }
}

run() {
  cd "$home"
  export HOME=$home PATH=$home/bin:$PATH XDG_CONFIG_HOME= XDG_STATE_HOME= TOLLGATE_DATA= TZ=UTC
  mkdir -p results
  echo "run,second,site,wanted,running,waiting" >results/pilots.csv
  echo "run,second,jobs" >results/jobs.csv
  : >results/runs.csv
  # Jobs of a run that was interrupted.
  ssh north scancel --me
  ssh south scancel --me
  ssh east qdel -u "$user" >/dev/null || true
  ssh west condor_rm -all >/dev/null || true
  waits 60 '^0$' in_queues
  add_sites $pilots $life >/dev/null
  local part
  for part in ${TOLLGATE_AGENTS:-gain faults}; do
    case "$part" in
      gain | faults) "$part" ;;
      *) echo "$part: expected gain or faults" >&2; return 2 ;;
    esac
  done
}

if [ -n "${PREPARED:-}" ]; then
  run
else
  prepare "$here/agents.sh"
  cp "$here/lossy.py" "$home"
  chown "$user" "$home/lossy.py"
  . "$folder/north/env"
  echo free >"$home/crowd"
  chown "$user" "$home/crowd"
  crowd &
  helper=$!
  finish() {
    kill $helper || true
    scancel --user=root 2>/dev/null || true
    down
  }
  trap finish EXIT
  status=0
  as_user "$here/agents.sh" "$home/bin/tollgate" "$folder" "$seconds" "$runs" || status=$?
  rm -rf "$folder/results"
  cp -r "$home/results" "$folder/results"
  exit $status
fi
