#!/usr/bin/env bash
# A real Slurm with accounting on this machine, for tests: slurm.sh with slurmdbd and MariaDB. Needs root.
#
#   .ci/parts/engines/slurmdbd.sh up FOLDER     starts what is not running; then: . FOLDER/env; sbatch ..
#   .ci/parts/engines/slurmdbd.sh down FOLDER   ends what `up` has started
#   .ci/parts/engines/slurmdbd.sh install       only installs it
#
# slurmdbd listens on all addresses and the database on port 3306: run it in a network of its own. The settings are those
# of slurm.sh.
set -euo pipefail
command=${1:?expected up, down or install} folder=${2:-/nonexistent}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

. "$here/daemons.sh"

install_packages() {
  "$here/slurm.sh" install
  command -v slurmdbd >/dev/null && command -v mariadbd >/dev/null || install_without_daemons slurmdbd mariadb-server
}

database() { mariadb --no-defaults --protocol=tcp --host=127.0.0.1 --user=root "$@"; }

up_database() {
  mkdir -p "$folder/database"
  chown mysql:mysql "$folder/database"
  [ -d "$folder/database/mysql" ] ||
    mysql_install_db --no-defaults --user=mysql --datadir="$folder/database" --skip-test-db --skip-name-resolve \
      --auth-root-authentication-method=normal >"$folder/log/database-install" 2>&1
  runs "$folder/database/pid" || setsid mariadbd --no-defaults --user=mysql --datadir="$folder/database" \
    --socket="$folder/database/socket" --pid-file="$folder/database/pid" --bind-address=127.0.0.1 --skip-name-resolve \
    --innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=2 \
    >"$folder/log/database" 2>&1 </dev/null &
  waits 60 database -e 'select 1'
  database -e "create user if not exists 'slurm'@'127.0.0.1' identified by 'slurm';
    grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1'"
}

accounting_answers() { (echo >/dev/tcp/127.0.0.1/6819) && sacctmgr -n list cluster; }

up_accounting() {
  cat >"$folder/slurmdbd.conf" <<CONFIG
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
SlurmUser=root
LogFile=$folder/log/accounting
PidFile=$folder/run/accounting.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageLoc=slurm_acct_db
StorageUser=slurm
StoragePass=slurm
CONFIG
  chmod 600 "$folder/slurmdbd.conf"
  # It looks for its settings beside these, and so does sacctmgr.
  [ -e "$folder/slurm.conf" ] || cat >"$folder/slurm.conf" <<CONFIG
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePass=$folder/munge/socket
CONFIG
  export SLURM_CONF=$folder/slurm.conf
  runs "$folder/run/accounting.pid" || slurmdbd
  waits 60 accounting_answers
  sacctmgr -n list cluster format=cluster | grep -q test || sacctmgr -i add cluster test >/dev/null
}

up() {
  install_packages
  mkdir -p "$folder"/{run,log}
  chmod 755 "$folder"
  "$here/slurm.sh" munge "$folder"
  up_database
  up_accounting
  SETTINGS="AccountingStorageHost=127.0.0.1
AccountingStoragePass=$folder/munge/socket
${SETTINGS:-}" ACCOUNTING=accounting_storage/slurmdbd "$here/slurm.sh" up "$folder"
}

down() {
  "$here/slurm.sh" down "$folder"
  local file pid
  for file in "$folder/run/accounting.pid" "$folder/database/pid"; do
    runs "$file" || continue
    pid=$(cat "$file")
    kill "$pid"
    waits 30 eval "! kill -0 $pid" || kill -KILL "$pid"
  done
}

case "$command" in
  install) install_packages ;;
  up | down)
    mkdir -p "$folder"
    folder=$(realpath "$folder")
    "$command"
    ;;
  *) echo "$command: expected up, down or install" >&2; exit 2 ;;
esac
