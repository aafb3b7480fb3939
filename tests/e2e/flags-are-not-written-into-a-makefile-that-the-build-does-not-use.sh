# A makefile lies beside the source, and the build calls the compiler itself: flags of one file have no place. The search
# leaves them out and says so; of a run that has them, the candidate is passed over, and the makefile stays as it is.
. "$(dirname "$0")/common.sh" "$@"
cp -r "$SRC/tests/e2e/divisions" app && cd app && rm CMakeLists.txt
printf '*.o\napp\nMakefile\n.kernelift/\n' > .gitignore
commit_all
ORIGINAL=$(git rev-parse HEAD) MAKEFILE=$(sha256sum Makefile)
expect_exit 0 "$KL" build --device cpu -- make
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract scale --out .kernelift/mep/k
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers compiler --evals 2 --patterns none
expect_says "-use_fast_math"
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)

# The makefile is used, and git does not know it: no commit could be made of the patch.
expect_exit 4 "$KL" apply "$RUN" --device cpu --time 5 --build make --run ./app
expect_says "passing over #"; expect_says "Makefile is not tracked by git, though other files of the patch are"
BUILD='nvcc -O2 -c scale.cu -o scale.o && nvcc -O2 -c main.cu -o main.o && nvcc main.o scale.o -o app'
expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 4 "$KL" apply "$RUN" --device cpu --time 5 --build "$BUILD" --run ./app
expect_says "passing over #"; expect_says "neither CMake nor make built scale.cu in $PWD, where the build did not use the makefile: add them by hand"
expect_exit_in "0 1" "$KL" tune .kernelift/mep/k --device cpu --tiers compiler --evals 2 --patterns none --no-inherit --json
[ "$(json '"flags of the compiler" in d["not_tried"][-1] and "did not use the makefile" in d["not_tried"][-1]')" = True ] || { cat "$WORK/.out"; fail "the report does not say why flags were not tried"; }
! grep -q -- "-use_fast_math" "$WORK/.out" "$WORK/.err" || fail "a flag was tried that no patch could write"
[ "$(git rev-parse HEAD)" = "$ORIGINAL" ] && [ -z "$(git status --porcelain)" ] && [ "$(sha256sum Makefile)" = "$MAKEFILE" ] || fail "something was changed"
