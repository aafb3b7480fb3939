# scan --json on the CMake example: kernels with file and line, launch sites linked to kernels, the block-size macro as a knob.
. "$(dirname "$0")/common.sh" "$@"
example heat
expect_exit 0 "$KL" build --device cpu -- sh -c 'cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j2'
expect_exit 0 "$KL" scan --json
[ "$(json 'len(d["kernels"]) >= 6')" = True ] || fail "fewer kernels than the example has"
[ "$(json 'all(k["definition"]["file"] and k["definition"]["line"] for k in d["kernels"])')" = True ] || fail "a kernel without file or line"
[ "$(json 'sum(1 for l in d["launches"] if l["kernels"]) >= 6')" = True ] || fail "launches are not linked to kernels"
[ "$(json 'any("apply_operator" in k["name"] and k["definition"]["file"].endswith("operator.cuh") for k in d["kernels"])')" = True ] || fail "apply_operator is not found in its header"
[ "$(json 'sorted({k["value"] for k in d["knobs"] if k["name"] == "BLOCK_X" and k["in_kernel"] and k["in_geometry"]})')" = "[8]" ] || fail "BLOCK_X is not a knob of value 8 that kernel and geometry use"
expect_exit 0 "$KL" scan
expect_says ".cu"
