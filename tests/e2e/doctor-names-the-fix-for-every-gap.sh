# kernelift doctor names a fix for every finding that is not good.
. "$(dirname "$0")/common.sh" "$@"
expect_exit 0 "$KL" doctor --json
[ "$(json 'sum(1 for f in d["findings"] if f["state"] != "good" and not f["fix"])')" = 0 ] || fail "a finding without a fix"
[ "$(json 'd["usable"]')" = True ] || fail "this machine should be usable"
expect_exit 0 "$KL" doctor
expect_says "CPU device"
# A device that is not there is none on which anything can be run.
expect_exit 3 "$KL" doctor --device cuda:99
expect_says "cannot run it on --device cuda:99"
