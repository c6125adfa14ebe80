# Creates the account and the directories of the service, and lets units that run go on with the new program.
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers /usr/lib/sysusers.d/tollgate.conf
elif ! getent passwd tollgate >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/tollgate --no-create-home --shell /usr/sbin/nologin tollgate
fi
if command -v systemd-tmpfiles >/dev/null; then
  systemd-tmpfiles --create /usr/lib/tmpfiles.d/tollgate.conf
else
  [ -d /var/lib/tollgate ] || install -d -m 1771 -o root -g tollgate /var/lib/tollgate
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # Unfinished jobs in another format need the program that stored them, which the running service still is.
  if [ ! -s /var/lib/tollgate/tollgate.db ] || tollgate check --upgrade --data /var/lib/tollgate >/dev/null; then
    # Jobs go on meanwhile, and the new service finds them.
    systemctl try-restart tollgate.service tollgate-worker.service 'tollgate-site-keep@*.service' || :
  else
    echo "tollgate: not restarted: the old program goes on. Once no job is unfinished: systemctl restart tollgate" >&2
  fi
fi
