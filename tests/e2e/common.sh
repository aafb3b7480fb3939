# Shared by the end-to-end tests: sourced with the script's own arguments, BIN_DIR SOURCE_DIR. Creates an empty working
# folder $WORK for the script and defines assertions that print the output of the failed command.
set -euo pipefail
BIN=$1 SRC=$2
KL=$BIN/kernelift
export PATH=$BIN:$PATH
WORK=$(mktemp -d)
export XDG_DATA_HOME=$WORK.data  # The library of patterns: that of the user says nothing about a test.
trap 'rm -rf "$WORK" "$XDG_DATA_HOME"' EXIT
cd "$WORK"
git config --global --get user.email >/dev/null 2>&1 || { export GIT_AUTHOR_NAME=Tester GIT_AUTHOR_EMAIL=t@localhost GIT_COMMITTER_NAME=Tester GIT_COMMITTER_EMAIL=t@localhost; }

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect_exit N CMD...: runs the command, saves its output in $WORK/.out and .err, and checks the exit code.
expect_exit() {
  local wanted=$1 got=0; shift
  "$@" >"$WORK/.out" 2>"$WORK/.err" </dev/null || got=$?
  [ "$got" -eq "$wanted" ] || { cat "$WORK/.out" "$WORK/.err" >&2; fail "'$*' exited with $got, not $wanted"; }
}

# expect_exit_in "0 1" CMD...: the same for a set of exit codes; sets $CODE to the actual one.
expect_exit_in() {
  local allowed=$1; shift
  CODE=0
  "$@" >"$WORK/.out" 2>"$WORK/.err" </dev/null || CODE=$?
  case " $allowed " in *" $CODE "*) ;; *) cat "$WORK/.out" "$WORK/.err" >&2; fail "'$*' exited with $CODE, not one of: $allowed" ;; esac
}

# True if other programs use most of the machine: loops on all cores get less than 60 % of two seconds of CPU time each.
machine_is_busy() {
  python3 - <<'P'
import os, sys, time
cores = len(os.sched_getaffinity(0))
for _ in range(cores):
    if os.fork() == 0:
        end = time.monotonic() + 2
        while time.monotonic() < end: pass
        os._exit(0)
for _ in range(cores): os.wait()
sys.exit(os.times().children_user >= 0.6 * 2 * cores)
P
}

# expect_gain CMD...: expects exit code 0. On a busy machine a gain can be hidden by noise and is then rightly not accepted: so
# the command is repeated once. If it fails again and the machine is busy, the test is skipped.
expect_gain() {
  for _ in 1 2; do
    expect_exit_in "0 1" "$@"
    [ $CODE -ne 0 ] || return 0
    cat "$WORK/.out" "$WORK/.err" >&2
  done
  ! machine_is_busy || { echo "skipped: nothing gained, and other programs use most of this machine"; exit 77; }
  fail "'$*' gained nothing"
}

# until_true SECONDS CMD...: repeats the command until it succeeds, for at most this many seconds.
until_true() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done
}

# expect_says TEXT: the last command's output (either stream) contains the text.
# Without a pipe: grep -q ends at the first match, and a writer that has not finished by then would fail the pipe.
expect_says() { grep -qF -- "$1" "$WORK/.out" "$WORK/.err" || { cat "$WORK/.out" "$WORK/.err" >&2; fail "the output does not contain: $1"; }; }

# expect_brief [LINES]: the last command's stderr is a sentence and not a stack trace, at most this many lines.
expect_brief() { local lines; lines=$(wc -l <"$WORK/.err"); [ "$lines" -le "${1:-3}" ] || { cat "$WORK/.err" >&2; fail "the message has $lines lines"; }; }

# json EXPRESSION: evaluates a Python expression on `d`, the JSON document that the last command printed on stdout.
json() { python3 -c "import json,sys; d=json.load(open('$WORK/.out')); print($1)"; }

example() { cp -r "$SRC/examples/$1" "$WORK/$1"; cd "$WORK/$1"; }

commit_all() { git init -q . && git add -A && git commit -qm original; }

# tuned_gamma EVALS: puts gamma.cu into a git repository and takes it from build to tune; sets $RUN to the run file. Only its
# parameters are searched: the best change is one that a patch can make, whatever the compiler's flags gain on a machine.
tuned_gamma() {
  mkdir app && cd app && cp "$SRC/tests/e2e/gamma.cu" .
  printf 'gamma\n.kernelift/\n' > .gitignore
  commit_all
  expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
  expect_exit 0 "$KL" scan
  expect_exit 0 "$KL" record -- ./gamma
  expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
  expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers params --evals "$1"
  RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
}
