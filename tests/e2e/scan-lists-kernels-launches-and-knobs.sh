# scan --json on the CMake example: kernels with places, launches tied to them, the block-size macro as a knob.
. "$(dirname "$0")/common.sh" "$@"
example heat
expect_exit 0 "$KL" build --device cpu -- sh -c 'cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j2'
expect_exit 0 "$KL" scan --json
[ "$(json 'len(d["kernels"]) >= 6')" = True ] || fail "fewer kernels than the example has"
[ "$(json 'all(k["definition"]["file"] and k["definition"]["line"] for k in d["kernels"])')" = True ] || fail "a kernel without a place"
[ "$(json 'sum(1 for l in d["launches"] if l["kernels"]) >= 6')" = True ] || fail "launches are not tied to kernels"
[ "$(json 'any(k["in_kernel"] and k["in_geometry"] for k in d["knobs"])')" = True ] || fail "no knob feeds both kernel and geometry"
expect_exit 0 "$KL" scan
expect_says ".cu"
