# A gain that is in the compiler's flags becomes one line in the application's own build (make): the flag is in that file's
# command and in no other's, the patch is a commit like any other, and without it the build file is the original.
. "$(dirname "$0")/common.sh" "$@"
cp -r "$SRC/tests/e2e/divisions" app && cd app && rm CMakeLists.txt
printf '*.o\napp\n.kernelift/\n' > .gitignore
commit_all
ORIGINAL=$(git rev-parse HEAD) BRANCH=$(git branch --show-current)
BUILD='make -j2'
expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract scale --out .kernelift/mep/k
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers compiler --evals 2 --patterns none
expect_says "-use_fast_math, which lowers the precision of functions, divisions and square roots"
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
expect_gain "$KL" apply "$RUN" --device cpu --time 10 --build "$BUILD" --run ./app --check ./app
expect_says "kept: "
[ "$(git diff --name-only "$ORIGINAL" HEAD)" = Makefile ] || fail "another file than the build's was changed"
[ "$(git diff "$ORIGINAL" HEAD | grep -c '^[+-][^+-]')" = 1 ] || fail "more than one line was changed"
git diff "$ORIGINAL" HEAD | grep -qxF -- '+scale.o: NVCCFLAGS += -use_fast_math' || { git diff "$ORIGINAL" HEAD; fail "not the line that was expected"; }
[ -z "$(git status --porcelain)" ] || { git status; fail "apply left uncommitted changes"; }
python3 - <<'P'
import json
for entry in json.load(open(".kernelift/compile_commands.json")):
    has = "-use_fast_math" in " ".join(entry.get("arguments", [entry.get("command", "")]))
    assert has == entry["file"].endswith("scale.cu"), entry
P
git log -1 --format=%B | grep -q "lowers the precision" || fail "the commit does not say what it does to results"

# A check that refuses the result: the build file is the original again, and so is what is built.
git switch -q "$BRANCH"
touch scale.cu  # make compares times, not commands.
expect_exit 1 "$KL" apply "$RUN" --device cpu --time 10 --build "$BUILD" --run ./app --check '! grep -q use_fast_math Makefile'
git diff --quiet HEAD || fail "the build file was not restored"
python3 - <<'P'
import json
for entry in json.load(open(".kernelift/compile_commands.json")):
    assert "-use_fast_math" not in " ".join(entry.get("arguments", [entry.get("command", "")])), entry
P
