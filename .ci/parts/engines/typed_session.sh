# After the block of docs/sites/sessions.md: jobs run on the pilots of the session, and nothing is left.
# shellcheck shell=bash
# The session puts commands of these names first on the path, which ask the session.
squeue_of_engine=$(command -v squeue || true)
qstat_of_engine=$(command -v qstat || true)
. ~/.local/state/tollgate-sessions/default/env
until tollgate nodes | grep -Eq 'west\.1 .*connected'; do sleep 0.2; done
job=$(tollgate submit --deadline 5m --estimate 5s --output none --format json -- sleep 1 | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
tollgate wait "$job"
tollgate explain "$job" | grep 'promise kept'
tollgate session agents
tollgate session exit --force
if [ -n "${SLURM_CONF:-}" ]; then
  left=$("$squeue_of_engine" --noheader --me --states=PENDING,RUNNING)
elif [ -n "$qstat_of_engine" ]; then
  left=$("$qstat_of_engine")
else
  left=$(condor_q -autoformat ClusterId)
fi
test -z "$left"
