# SIGTERM and SIGHUP while a command of the user's runs: exit code 130 at once, and none of its processes goes on in the
# background, not even after kill -9 and in a session of its own. After kill -9 in the middle of apply, no verb uses the patched sources as the application.
. "$(dirname "$0")/common.sh" "$@"
example one-file
# A duration for which no other process sleeps.
SLEEP="sleep $((100000 + $$))"
asleep() { pgrep -xf "$SLEEP" >/dev/null; }
none_asleep() { ! asleep; }
# expect_130 SIGNAL CMD...: starts CMD, waits until it sleeps, runs $WHILE_ASLEEP, sends the signal, and checks the exit code.
WHILE_ASLEEP=true
expect_130() {
  local signal=$1 got=0; shift
  "$@" >"$WORK/.first.out" 2>"$WORK/.first.err" </dev/null &
  local pid=$!
  until_true 300 asleep || { cat "$WORK/.first.err" >&2; fail "'$*' never slept"; }
  $WHILE_ASLEEP
  kill -"$signal" $pid
  wait $pid || got=$?
  mv "$WORK/.first.out" "$WORK/.out"; mv "$WORK/.first.err" "$WORK/.err"
  [ $got -eq 130 ] || { cat "$WORK/.err" >&2; fail "'$*' exited with $got after SIG$signal"; }
  until_true 60 none_asleep || fail "after SIG$signal the command goes on in the background"
}
second_optimize() {
  expect_exit 3 "$KL" optimize --device cpu --build 'nvcc -O2 nbody.cu -o nbody' --run ./nbody
  expect_says "another \`kernelift optimize\` is running in this folder"
}
for signal in TERM HUP; do
  expect_130 $signal "$KL" build --device cpu -- sh -c "$SLEEP & wait"
  WHILE_ASLEEP=second_optimize
  expect_130 $signal "$KL" optimize --device cpu --time 10 --build 'nvcc -O2 nbody.cu -o nbody' --run ./nbody --check "$SLEEP; true"
  WHILE_ASLEEP=true
done

# expect_none_left CMD...: starts CMD, waits until it sleeps, and kills it.
expect_none_left() {
  "$@" >/dev/null 2>&1 </dev/null &
  local pid=$!
  until_true 300 asleep || fail "'$*' never slept"
  kill -9 $pid
  wait $pid 2>/dev/null || true
  until_true 60 none_asleep || fail "after kill -9 of '$*' its command goes on"
}
expect_none_left "$KL" build --device cpu -- sh -c "setsid $SLEEP & wait"
expect_none_left "$KL" record --device cpu -- sh -c "setsid $SLEEP; true"
expect_none_left "$KL" optimize --device cpu --time 10 --build "setsid $SLEEP; true" --run ./nbody
expect_none_left "$KL" optimize --device cpu --time 10 --build 'nvcc -O2 nbody.cu -o nbody' --run ./nbody --check "$SLEEP; true"

# The state folder as kill -9 leaves it during apply: a journal, and a lock that no process holds.
mkdir -p .kernelift/apply && : > .kernelift/apply/lock
echo '{}' > .kernelift/apply/journal.json
for verb in scan "build -- true" "extract forces" "record -- true"; do
  expect_exit 4 "$KL" $verb; expect_says "kernelift apply --rollback"; expect_brief
done
