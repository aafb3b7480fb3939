# The user has edited the kernel's file since the run: apply refuses, names the file, and changes nothing.
. "$(dirname "$0")/common.sh" "$@"
tuned_gamma 4
sed -i '1i // edited after the run' gamma.cu
SUM=$(sha256sum gamma.cu); HEAD_BEFORE=$(git rev-parse HEAD)
got=0
"$KL" apply "$RUN" --device cpu --build 'nvcc -O2 gamma.cu -o gamma' --run ./gamma --check ./gamma >.apply 2>&1 || got=$?
[ $got -eq 4 ] || { cat .apply; fail "exit $got"; }
grep -q gamma.cu .apply || { cat .apply; fail "the refusal does not name the file"; }
rm .apply
[ "$(sha256sum gamma.cu)" = "$SUM" ] && [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] || fail "apply changed the file or HEAD"
# optimize says so before it searches.
expect_exit 1 "$KL" optimize --device cpu --time 60 --kernels 1 --json --build 'nvcc -O2 gamma.cu -o gamma' --run ./gamma --check ./gamma
[ "$(json 'd["kernels"][0]["outcome"]')" = refused ] || fail "optimize does not refuse the kernel"
grep -q "not tuned: gamma.cu has uncommitted changes" "$WORK/.out" || fail "optimize does not say why before it searches"
[ "$(sha256sum gamma.cu)" = "$SUM" ] && [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] || fail "optimize changed the file or HEAD"
