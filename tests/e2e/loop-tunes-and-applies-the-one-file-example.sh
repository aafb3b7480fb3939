# The verbs one by one on a git repository: the tree ends patched on a branch with the check passing, or untouched.
. "$(dirname "$0")/common.sh" "$@"
example one-file
printf 'nbody\n.kernelift/\n' > .gitignore
commit_all
HEAD_BEFORE=$(git rev-parse HEAD)
BRANCH_BEFORE=$(git branch --show-current)
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out .kernelift/mep/k
expect_exit_in "0 1" "$KL" tune .kernelift/mep/k --device cpu --time 25
RUN=$(ls .kernelift/runs/*.klrun | head -1)
expect_exit 0 "$KL" report "$RUN" -o run.html
grep -q '</html>' run.html || fail "the report is cut short"
rm run.html
got=0
"$KL" apply "$RUN" --device cpu --build 'nvcc -O2 nbody.cu -o nbody' --run ./nbody --check ./nbody >.apply 2>&1 || got=$?
cat .apply; rm .apply
case $got in
  0) [ "$(git rev-parse HEAD)" != "$HEAD_BEFORE" ] || git branch --list 'kernelift/*' | grep -q . || fail "kept, but no branch holds the patch"
     [ -z "$(git status --porcelain)" ] || fail "apply left uncommitted changes" ;;
  1|4) [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] && [ -z "$(git status --porcelain)" ] || fail "not kept, but the tree changed"
       [ "$(git branch --show-current)" = "$BRANCH_BEFORE" ] || fail "not kept, but another branch is checked out" ;;
  *) fail "apply exited with $got" ;;
esac
