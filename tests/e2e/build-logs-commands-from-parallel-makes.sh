# Sixteen files compiled in parallel: the log is one valid document that contains every command.
. "$(dirname "$0")/common.sh" "$@"
for i in $(seq 16); do echo "__global__ void k$i(int* p) { *p = $i; }" > f$i.cu; done
printf 'all: $(patsubst %%.cu,%%.o,$(wildcard *.cu))\n%%.o: %%.cu\n\tnvcc -c $< -o $@\n' > Makefile
expect_exit 0 "$KL" build --device cpu -- make -j8
python3 - <<'P'
import json
log = json.load(open(".kernelift/compile_commands.json"))
files = sorted(e["file"].split("/")[-1] for e in log)
assert files == sorted(f"f{i}.cu" for i in range(1, 17)), files
P
