#!/bin/sh
# Tries a package in a bare system: installed.sh INSTALL UPGRADE REFUSED REMOVE
#
# Each argument is a command. UPGRADE brings a version whose store has a step more, and REFUSED one that does not read
# unfinished jobs. The service is started as its unit does, since nothing runs systemd here.
set -eu
data=/var/lib/tollgate
trap '[ $? = 0 ] || tail -n 20 /*.log' EXIT
# A failed check says what differed: `set -e` alone would end without a word, and overlooks a command after `!`.
holds() { "$@" || { echo "expected to succeed: $*"; exit 1; }; }
fails() { if "$@"; then echo "expected to fail: $*"; exit 1; fi; }
equal() { [ "$1" = "$2" ] || { printf 'expected:\n%s\nbut it is:\n%s\n' "$1" "$2"; exit 1; }; }
contains() { grep "$2" "$1" || { echo "expected in $1: $2"; cat "$1"; exit 1; }; }
# Waits for a command to succeed, for a minute and as long as process PID lives: soon PID COMMAND..
soon() {
  lives=$1
  n=0
  shift
  until "$@" >/tried.log 2>&1; do
    n=$((n + 1))
    if [ $n = 60 ] || ! kill -0 "$lives"; then echo "not after $n attempts: $*"; cat /tried.log; exit 1; fi
    sleep 1
  done
}
serve() {
  tollgate serve --data $data --config /etc/tollgate/config.toml >>/service.log 2>&1 &
  service=$!
  soon $service env TOLLGATE_DATA=$data tollgate status
}
restart() {
  kill $service
  wait $service || :
  serve
}
# Prints the promise of the running job, and the instant that it started.
promise_of_job() { as_user tollgate jobs --id 2 --format json | grep -E "\"(state|deadline_at|promised_probability|promised_at|started_at|attempts)\""; }
start_is_known() { promise_of_job | grep started_at; }
as_user() { setpriv --reuid=1234 --regid=1234 --clear-groups env HOME=/home/ada "$@"; }

echo "-- install"
eval "$1"
tollgate --version
holds [ -f /usr/share/man/man1/tollgate-submit.1.gz ]
holds [ -f /usr/share/bash-completion/completions/tollgate ]
getent passwd tollgate
stat -c '%a %U:%G %n' $data
. /etc/profile.d/tollgate.sh
equal $data "$TOLLGATE_DATA"

echo "-- the first look"
tollgate demo --once | tail -3

echo "-- the service as its account, and a job of a user"
useradd --uid 1234 --create-home ada
serve
contains "/proc/$service/status" "^Uid:.$(id -u tollgate)"
cd /home/ada
as_user tollgate submit --estimate 1s --deadline +1h -- sh -c 'id -un >who'
as_user tollgate wait 1
equal ada "$(cat who)"

echo "-- an upgrade while a job runs"
as_user tollgate submit --estimate 30s --deadline +1h -- sh -c 'echo begun >>runs; until [ -f go ]; do sleep 1; done; echo done >>runs'
soon $service [ -f runs ]
# For a moment the program runs and the service does not know yet when it started.
soon $service start_is_known
promise=$(promise_of_job)
printf '# changed by the administrator\n[listen]\naddress = "127.0.0.1:8443"\n' >>/etc/tollgate/config.toml
# Stands for systemd, and notes what it is asked.
mkdir -p /run/systemd/system
printf '#!/bin/sh\necho "$@" >>/systemctl.log\n' >/usr/bin/systemctl
chmod 755 /usr/bin/systemctl
cp /usr/bin/tollgate /first
eval "$2"
fails [ "$(tollgate --version)" = "$(/first --version)" ]
contains /etc/tollgate/config.toml 'changed by the administrator'
contains /systemctl.log 'try-restart tollgate.service'
# As systemd restarts it: only the process of the service ends.
restart
equal "$promise" "$(promise_of_job)"
fails /first check --upgrade --data $data 2>/newer.log
contains /newer.log 'written by a newer version'

echo "-- an upgrade to a program that does not read the unfinished jobs restarts nothing"
: >/systemctl.log
eval "$3"
fails tollgate check --upgrade --data $data
fails grep try-restart /systemctl.log
equal "$promise" "$(promise_of_job)"
touch go
as_user tollgate wait 2
equal "begun
done" "$(cat runs)"
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
soon $worker sh -c 'tollgate nodes | grep "other.* connected"'
kill $worker
wait $worker || :

echo "-- removal"
kill $service
wait $service || :
eval "$4"
fails [ -e /usr/bin/tollgate ]
fails [ -e /usr/lib/systemd/system/tollgate.service ]
holds [ -e $data/tollgate.db ]
[ -e /etc/tollgate/config.toml ] || holds [ -e /etc/tollgate/config.toml.rpmsave ]
echo "-- all of it works"
