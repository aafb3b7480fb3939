# A shared library in one git repository, and somebody else's test program in another: the library's kernel is recorded
# in the program and tuned. Without --repo nothing outside of the program's folder is changed; with it the patch is a
# commit in the library's repository, proven by the program, whose own repository stays as it was.
. "$(dirname "$0")/common.sh" "$@"
mkdir library program
sed -n '/^#define BLOCK/,/^}/p' "$SRC/tests/e2e/gamma.cu" > library/gamma.cu
cat >> library/gamma.cu <<'C'
extern "C" void correct_image(const float* in, float* out, float gamma, int n) {
  correct<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, gamma, n);
}
C
printf 'libgamma.so: gamma.cu\n\tnvcc -O2 -shared -Xcompiler -fPIC gamma.cu -o libgamma.so\n' > library/Makefile
echo '*.so' > library/.gitignore
{
  printf '#include <cmath>\n#include <cstdio>\n#include <vector>\n'
  echo 'extern "C" void correct_image(const float* in, float* out, float gamma, int n);'
  sed -n '/^int main/,$p' "$SRC/tests/e2e/gamma.cu" | sed 's/correct<<<.*>>>(/correct_image(/'
} > program/test.cu
printf 'test\n.kernelift/\n' > program/.gitignore
(cd library && commit_all) && cd program && commit_all
LIBRARY_BEFORE=$(git -C ../library rev-parse HEAD) PROGRAM_BEFORE=$(git rev-parse HEAD)
BUILD='make -s -C ../library && nvcc -O2 test.cu -L../library -lgamma -Xlinker -rpath=../library -o test'
expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 0 "$KL" scan
expect_says library/gamma.cu
expect_exit 0 "$KL" record -- ./test
expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers params --evals 4
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
apply() { "$KL" apply "$@" "$RUN" --device cpu --time 10 --build "$BUILD" --run ./test --check ./test; }
expect_exit 4 apply
expect_says "outside the application"; expect_says "--repo"
expect_exit 2 apply --repo "$WORK"
expect_says "is in no git repository"
expect_gain apply --repo ../library
expect_says "of the repository $WORK/library, now checked out"
expect_says "go back with: git -C $WORK/library switch"
[ "$(git -C ../library rev-parse HEAD^)" = "$LIBRARY_BEFORE" ] || fail "the library has not one commit more"
[ "$(git rev-parse HEAD)" = "$PROGRAM_BEFORE" ] || fail "the program's repository was changed"
[ "$(git -C ../library branch --show-current)" = kernelift/correct-1 ] || fail "the patch is on no branch of its own"
[ -z "$(git status --porcelain)$(git -C ../library status --porcelain)" ] || fail "uncommitted changes are left"
./test || fail "what is built does not run"
