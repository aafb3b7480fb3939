# The archive runs from any folder, in an environment without anything of the build machine, and no link leads out of it.
. "$(dirname "$0")/common.sh" "$@"
expect_exit 0 "$SRC/scripts/bundle" --level 0 "$BIN/.." "$WORK/out/kernelift.tar.xz"
mkdir "$WORK/else where" && cd "$WORK/else where"
tar -xJf "$WORK/out/kernelift.tar.xz"
cd kernelift-*
HOME_FOLDER=$PWD
find . -type l | while read -r link; do
  case $(readlink -f "$link") in "$HOME_FOLDER"/*) ;; *) fail "$link leads out of the archive" ;; esac
done
for file in LICENSE README.md scripts/gpu-check scripts/transcripts examples/transcripts/forces/1-several-threads-a-body.answer.md tests/gpu/run_cases lib/kernelift/headers/cuda_runtime.h lib/kernelift/clang/include/stddef.h share/man/man1/kernelift-tune.1 share/bash-completion/completions/kernelift share/zsh/site-functions/_kernelift; do
  [ -f "$file" ] || fail "the archive has no $file"
done
# The programs contain no path of the machine that built them.
for file in bin/kernelift lib/kernelift/runtime/*.so*; do
  named=$(grep -aoF -m 1 "$SRC/" "$file" | head -1 || true)
  [ -z "$named" ] || fail "$file names $named"
done
BARE=(env -i PATH=/usr/bin:/bin HOME="$WORK")
expect_exit 0 "${BARE[@]}" bin/kernelift doctor --json
[ "$(json 'all(f["detail"].startswith("'"$HOME_FOLDER"'") for f in d["findings"] if f["area"] == "kernelift")')" = True ] || fail "doctor found pieces elsewhere"
# The suite of hostile candidates is in the archive: a kind of it that asks nothing of the kernel's jail.
expect_exit 0 "${BARE[@]}" bin/kernelift selftest --hostile --device cpu --quick --only grids
expect_says "none was believed, none got out"
cp -r examples/one-file "$WORK/app" && cd "$WORK/app"
expect_exit 0 "${BARE[@]}" "$HOME_FOLDER/bin/kernelift" build --device cpu -- nvcc -O2 nbody.cu -o nbody
# The archive contains oneTBB; on a machine without it, programs are linked with the archive's library.
for library in $(find "$HOME_FOLDER/lib/kernelift/runtime" -name 'libtbb.so*' -printf '%f\n'); do
  [ -n "$(find -L .kernelift -name "$library" -type f)" ] || fail "$library is not beside the runtime that programs are linked with"
done
expect_exit 0 "${BARE[@]}" ./nbody 256 2 --check
expect_says PASSED
expect_exit 0 "${BARE[@]}" "$HOME_FOLDER/bin/kernelift" scan
expect_exit 0 "${BARE[@]}" "$HOME_FOLDER/bin/kernelift" record -- ./nbody 256 4
expect_exit 0 "${BARE[@]}" "$HOME_FOLDER/bin/kernelift" extract forces --out mep
expect_exit 0 "${BARE[@]}" "$HOME_FOLDER/bin/kernelift" replay mep --device cpu
expect_says PASS
