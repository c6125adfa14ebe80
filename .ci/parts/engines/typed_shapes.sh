# After the block of docs/sites/use-of-pilots.md: the site has the shapes, and a pilot of the first one is what `scale` would submit.
# shellcheck shell=bash
tollgate site list --format json | tee listed
grep -q '"whole"' listed
grep -q 'node_cores = [1-9]' ~/.config/tollgate/sites.toml
tollgate site scale mixed 1 --dry-run --url https://here:8443 | grep -q -- "--cpus-per-task=1' '--time=10'"
tollgate site remove mixed
