# Shared by the end-to-end tests: sourced with the script's own arguments, BIN_DIR SOURCE_DIR. Gives each script an empty
# folder $WORK as its working folder and a few assertions that print what they saw.
set -euo pipefail
BIN=$1 SRC=$2
KL=$BIN/kernelift
export PATH=$BIN:$PATH
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
git config --global --get user.email >/dev/null 2>&1 || { export GIT_AUTHOR_NAME=Tester GIT_AUTHOR_EMAIL=t@localhost GIT_COMMITTER_NAME=Tester GIT_COMMITTER_EMAIL=t@localhost; }

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect_exit N CMD...: runs it, keeps its output in $WORK/.out and .err, checks the exit code.
expect_exit() {
  local wanted=$1 got=0; shift
  "$@" >"$WORK/.out" 2>"$WORK/.err" </dev/null || got=$?
  [ "$got" -eq "$wanted" ] || { cat "$WORK/.out" "$WORK/.err" >&2; fail "'$*' exited with $got, not $wanted"; }
}

# expect_exit_in "0 1" CMD...: any of these codes; which one is left in $CODE.
expect_exit_in() {
  local allowed=$1; shift
  CODE=0
  "$@" >"$WORK/.out" 2>"$WORK/.err" </dev/null || CODE=$?
  case " $allowed " in *" $CODE "*) ;; *) cat "$WORK/.out" "$WORK/.err" >&2; fail "'$*' exited with $CODE, not one of: $allowed" ;; esac
}

# Other programs have most of this machine: loops that would take all of it get less than 60 % of it in two seconds.
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

# expect_gain CMD...: exit 0. On a busy machine any gain can drown in the noise, and is then rightly not believed: so once more,
# and where nothing comes of that either and the machine is busy still, this claim cannot be tried.
expect_gain() {
  for _ in 1 2; do
    expect_exit_in "0 1" "$@"
    [ $CODE -ne 0 ] || return 0
    cat "$WORK/.out" "$WORK/.err" >&2
  done
  ! machine_is_busy || { echo "nothing gained, and other programs have most of this machine: not tried"; exit 77; }
  fail "'$*' gained nothing"
}

# until_true SECONDS CMD...: waits for it to succeed, as long as a machine with much else to do may take.
until_true() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done
}

# expect_says TEXT: the last command's output (either stream) holds the text.
# No pipe: grep -q ends at the first match, and a writer that is not done by then fails the whole pipe.
expect_says() { grep -qF -- "$1" "$WORK/.out" "$WORK/.err" || { cat "$WORK/.out" "$WORK/.err" >&2; fail "nothing said: $1"; }; }

# One sentence, not a stack trace: the last command's stderr has at most this many lines.
expect_brief() { local lines; lines=$(wc -l <"$WORK/.err"); [ "$lines" -le "${1:-3}" ] || { cat "$WORK/.err" >&2; fail "$lines lines where a sentence would do"; }; }

# json EXPRESSION: evaluates a Python expression on the last command's stdout, as `d`.
json() { python3 -c "import json,sys; d=json.load(open('$WORK/.out')); print($1)"; }

example() { cp -r "$SRC/examples/$1" "$WORK/$1"; cd "$WORK/$1"; }

commit_all() { git init -q . && git add -A && git commit -qm original; }

# tuned_gamma EVALS: gamma.cu in a git repository of its own, taken from build to tune; $RUN is the run.
tuned_gamma() {
  mkdir app && cd app && cp "$SRC/tests/e2e/gamma.cu" .
  printf 'gamma\n.kernelift/\n' > .gitignore
  commit_all
  expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
  expect_exit 0 "$KL" scan
  expect_exit 0 "$KL" record -- ./gamma
  expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
  expect_gain "$KL" tune .kernelift/mep/k --device cpu --evals "$1"
  RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
}
