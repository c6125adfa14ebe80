#!/bin/sh
# Tries a package in a bare system: installed.sh INSTALL UPGRADE REFUSED REMOVE
#
# Each argument is a command. UPGRADE brings a version whose store has a step more, and REFUSED one that does not read
# unfinished jobs. The service is started as its unit does, since nothing runs systemd here.
set -eu
data=/var/lib/tollgate
serve() {
  tollgate serve --data $data --config /etc/tollgate/config.toml >>/service.log 2>&1 &
  service=$!
  n=0
  until TOLLGATE_DATA=$data tollgate status >/dev/null 2>/status.log; do
    n=$((n + 1))
    if [ $n = 60 ] || ! kill -0 $service; then cat /service.log /status.log; exit 1; fi
    sleep 1
  done
}
# `set -e` overlooks a command after `!`.
fails() { if "$@"; then echo "expected to fail: $*"; exit 1; fi; }
restart() {
  kill $service
  wait $service || :
  serve
}
# Prints the promise of the running job, and the instant that it started.
promise_of_job() { as_user tollgate jobs --id 2 --format json | grep -E "\"(state|deadline_at|promised_probability|promised_at|started_at|attempts)\""; }
as_user() { setpriv --reuid=1234 --regid=1234 --clear-groups env HOME=/home/ada "$@"; }

echo "-- install"
eval "$1"
tollgate --version
[ -f /usr/share/man/man1/tollgate-submit.1.gz ]
[ -f /usr/share/bash-completion/completions/tollgate ]
getent passwd tollgate
stat -c '%a %U:%G %n' $data
. /etc/profile.d/tollgate.sh
[ "$TOLLGATE_DATA" = $data ]

echo "-- the first look"
tollgate demo --once | tail -3

echo "-- the service as its account, and a job of a user"
useradd --uid 1234 --create-home ada
serve
grep -q "^Uid:.$(id -u tollgate).*" "/proc/$service/status"
cd /home/ada
as_user tollgate submit --estimate 1s --deadline +1h -- sh -c 'id -un >who'
as_user tollgate wait 1
[ "$(cat who)" = ada ]

echo "-- an upgrade while a job runs"
as_user tollgate submit --estimate 30s --deadline +1h -- sh -c 'echo begun >>runs; until [ -f go ]; do sleep 1; done; echo done >>runs'
n=0
until [ -f runs ]; do n=$((n + 1)); [ $n -lt 60 ]; sleep 1; done
promise=$(promise_of_job)
printf '# changed by the administrator\n[listen]\naddress = "127.0.0.1:8443"\n' >>/etc/tollgate/config.toml
# Stands for systemd, and notes what it is asked.
mkdir -p /run/systemd/system
printf '#!/bin/sh\necho "$@" >>/systemctl.log\n' >/usr/bin/systemctl
chmod 755 /usr/bin/systemctl
cp /usr/bin/tollgate /first
eval "$2"
[ "$(tollgate --version)" != "$(/first --version)" ]
grep -q 'changed by the administrator' /etc/tollgate/config.toml
grep -q 'try-restart tollgate.service' /systemctl.log
# As systemd restarts it: only the process of the service ends.
restart
[ "$(promise_of_job)" = "$promise" ]
/first check --upgrade --data $data 2>&1 | grep 'written by a newer version'

echo "-- an upgrade to a program that does not read the unfinished jobs restarts nothing"
: >/systemctl.log
eval "$3"
fails tollgate check --upgrade --data $data
fails grep try-restart /systemctl.log
[ "$(promise_of_job)" = "$promise" ]
touch go
as_user tollgate wait 2
[ "$(cat runs)" = "begun
done" ]
tollgate check --upgrade --data $data
restart
rm -r /usr/bin/systemctl /run/systemd
as_user tollgate explain 2 | head -5

echo "-- a worker, as its unit starts it"
(umask 077; tollgate token new --worker >/etc/tollgate/worker-token)
cat >/etc/tollgate/worker.env <<END
TOLLGATE_CONNECT=https://127.0.0.1:8443
TOLLGATE_FINGERPRINT=$(grep -o 'sha256:[0-9a-f]*' /service.log | tail -1)
END
(
  set -a
  . /etc/tollgate/worker.env
  exec tollgate worker --data /var/lib/tollgate-worker --connect "$TOLLGATE_CONNECT" --name other --nodes 1 \
    --token-file /etc/tollgate/worker-token >/worker.log 2>&1
) &
worker=$!
n=0
until tollgate nodes | grep 'other.* connected'; do
  n=$((n + 1))
  if [ $n = 60 ] || ! kill -0 $worker; then cat /worker.log; tollgate nodes; exit 1; fi
  sleep 1
done
kill $worker
wait $worker || :

echo "-- removal"
kill $service
wait $service || :
eval "$4"
[ ! -e /usr/bin/tollgate ]
[ ! -e /usr/lib/systemd/system/tollgate.service ]
[ -e $data/config.toml ] || ls $data
[ -e /etc/tollgate/config.toml ] || [ -e /etc/tollgate/config.toml.rpmsave ]
echo "-- all of it works"
