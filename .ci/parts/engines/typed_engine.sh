# After the block of docs/service/engines.md: the job's promise is kept on a node of the partition.
# shellcheck shell=bash
tollgate wait 1
tollgate explain 1 | tee explained
grep -q 'promise kept' explained
grep -Eq 'host +n[12]' explained
