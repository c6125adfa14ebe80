#!/usr/bin/env bash
# Checks what a script of `scripts` wrote into the present directory. A script that ends with another code than 0 fails before.
set -euo pipefail
number=$(cat number)
has() { grep -q "$1" "$2" || { echo "$2: no line has: $1" >&2; cat "$2" >&2; exit 1; }; }
case "$1" in
  01-serial) has '^nodes 1 tasks 1$' "serial_$number.log" ;;
  02-threads) has '^threads 2 of 2$' threads.out && has '^on standard error$' threads.err ;;
  03-array) for task in 1 2 3 4; do has "^task $task of 4 runs $((task * 10 - 9)) to $((task * 10))\$" "array_$number-$task.log"; done ;;
  04-python) has '^job python with 1 processors$' python.out ;;
  05-steps) for step in 1 2 3 4; do has "^step $step\$" step-$step.out; done; has '^1$' steps.out ;;
  06-dependency) has '^COMPLETED$' dependency.out && has '^first$' second.out && has '^second$' second.out ;;
  07-scratch) has '^sweet$' data && has '^copied to script-07-scratch$' scratch.out ;;
  08-signal) has '^started$' signal.out && has '^saved$' signal.out ;;
  09-hosts) has ' has 2 tasks$' hosts.out && has '^1: 1 of 2$' hosts.out && has '^Comment=a comment$' hosts.out ;;
  10-resubmit) has '^round 1$' resubmit-resubmit.out ;;
  *) echo "$1: no such script" >&2; exit 1 ;;
esac
echo "$1: job $number"
