# The user edited the kernel's file after the run: apply refuses by name, and not a byte changes.
. "$(dirname "$0")/common.sh" "$@"
example one-file
printf 'nbody\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out .kernelift/mep/k
expect_gain "$KL" tune .kernelift/mep/k --device cpu --evals 12  # The sums that it leaves in memory are found by then.
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
sed -i '1i // edited while the run was going on' nbody.cu
SUM=$(sha256sum nbody.cu); HEAD_BEFORE=$(git rev-parse HEAD)
got=0
"$KL" apply "$RUN" --device cpu --build 'nvcc -O2 nbody.cu -o nbody' --run ./nbody --check ./nbody >.apply 2>&1 || got=$?
[ $got -eq 4 ] || { cat .apply; fail "exit $got"; }
grep -q nbody.cu .apply || { cat .apply; fail "the refusal does not name the file"; }
rm .apply
[ "$(sha256sum nbody.cu)" = "$SUM" ] && [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] || fail "something of the user's changed"
