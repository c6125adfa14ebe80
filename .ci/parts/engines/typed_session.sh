# After the block of docs/sites/sessions.md: jobs run on the pilots of the session, and nothing is left.
# shellcheck shell=bash
# The session puts a qstat of its own first on the path.
qstat_of_engine=$(command -v qstat || true)
. ~/.local/state/tollgate-sessions/default/env
until tollgate nodes | grep -Eq 'west\.1 .*connected'; do sleep 0.2; done
job=$(tollgate submit --deadline 5m --estimate 5s --output none --format json -- sleep 1 | sed -n 's/^ *"id": \([0-9]*\).*/\1/p')
tollgate wait "$job"
tollgate explain "$job" | grep 'promise kept'
tollgate session agents
tollgate session exit --force
if [ -n "${SLURM_CONF:-}" ]; then
  test -z "$(squeue --noheader --me --states=PENDING,RUNNING)"
elif [ -n "$qstat_of_engine" ]; then
  test -z "$("$qstat_of_engine")"
else
  test -z "$(condor_q -autoformat ClusterId)"
fi
