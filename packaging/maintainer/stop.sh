# Ends the services before the program goes. Their jobs go on to their ends; the data directories stay.
if [ -d /run/systemd/system ]; then
  systemctl disable --now tollgate.service tollgate-worker.service || :
  systemctl stop 'tollgate-site-keep@*.service' || :
fi
