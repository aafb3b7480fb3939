# A MEP reproduces the recorded results, and builds with plain nvcc, without any file of Kernelift.
. "$(dirname "$0")/common.sh" "$@"
example one-file
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 nbody.cu -o nbody
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./nbody
KERNEL=forces
expect_exit 0 "$KL" extract "$KERNEL" --out mep
grep -q "Grade: not known" mep/README.md || fail "a MEP that was never replayed has a grade"
expect_exit 0 "$KL" replay mep
expect_says PASS
grep -q "Grade: .* on cpu: .*: addresses as recorded; memory afterwards as in the application" mep/README.md || fail "the MEP's README does not state its grade"
grep -q '"kernelift-fidelity"' mep/fidelity.json || fail "the MEP contains no grade"
expect_exit 0 "$KL" replay mep --json
if [ -x /usr/local/cuda/bin/nvcc ]; then
  (cd mep && /usr/local/cuda/bin/nvcc -arch=sm_90 main.cu -o standalone) || fail "nvcc main.cu"
  [ -x mep/standalone ] || fail "no standalone program"
else
  echo "nvcc is not installed: the standalone build was skipped"
fi
