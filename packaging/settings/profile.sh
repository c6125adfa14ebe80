# Clients find the service of this host by its data directory.
export TOLLGATE_DATA="${TOLLGATE_DATA:-/var/lib/tollgate}"
