# Sourced by the scripts of engines: their daemons, without those that packages would start.
# shellcheck shell=bash

# runs FILE: whether the process that FILE names is alive, and not just waiting to be reaped.
runs() {
  local pid
  pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] && ! grep -qs '^State:.Z' "/proc/$pid/status" && kill -0 "$pid" 2>/dev/null
}

# waits SECONDS COMMAND..: until the command succeeds; fails after the time.
waits() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# Installs packages, whose own daemons are not started: those here have other files.
install_without_daemons() {
  local policy=/usr/sbin/policy-rc.d ours='' installed=yes
  [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy && ours=yes; }
  apt-get -qq -o DPkg::Lock::Timeout=300 update &&
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 install --no-install-recommends "$@" >/dev/null ||
    installed=
  [ -z "$ours" ] || rm $policy
  [ -n "$installed" ]
}
