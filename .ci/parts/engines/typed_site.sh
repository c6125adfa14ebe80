# After the block of docs/sites/sites.md: the job's promise is kept on a pilot, and the pilots end.
# shellcheck shell=bash
tollgate wait 1
tollgate explain 1 | tee explained
grep -q 'promise kept' explained
grep -Eq 'host +lab\.[12]' explained
tollgate site scale lab 0
until tollgate site status lab | grep -Eq ' 0 pending, 0 running(;|$)'; do sleep 0.2; done
tollgate site remove lab
kill "$(tollgate status --format json | sed -n 's/^ *"pid": \([0-9]*\).*/\1/p')"
while tollgate status; do sleep 0.2; done
mv ~/.local/state/tollgate ~/.local/state/tollgate-with-pilots
