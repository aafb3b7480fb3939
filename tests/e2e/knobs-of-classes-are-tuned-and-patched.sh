# Constants of a policy, of the class that launches, and of a nameless enum in a policy are knobs: tune varies them with the
# launch that follows, and the patch writes the new value into the class.
. "$(dirname "$0")/common.sh" "$@"
python3 - "$SRC/tests/e2e/gamma.cu" <<'P'
import sys
text = open(sys.argv[1]).read()
body = text[text.index("__global__"):text.index("int main")]
main = text[text.index("int main"):]
head = text[:text.index("#define BLOCK")] + "#define LEVELS 256\n"
launch = "correct<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, 0.45f, n)"
assert launch in main
def write(name, types, kernel, call): open(name, "w").write(head + types + kernel + main.replace(launch, call))
write("policy.cu", "struct Policy {\n  static constexpr int BLOCK = 16;\n};\n",
      "template <class P>\n" + body.replace("BLOCK", "P::BLOCK"),
      "correct<Policy><<<(n + Policy::BLOCK - 1) / Policy::BLOCK, Policy::BLOCK>>>(in, out, 0.45f, n)")
write("listed.cu", "namespace app {\nstruct Sizes {\n  enum { BLOCK = 16, OTHER = 2 };\n};\n}\n", body.replace("BLOCK", "app::Sizes::BLOCK"),
      launch.replace("BLOCK", "app::Sizes::BLOCK"))
owner = """class Corrector {
 public:
  static constexpr int kBlock = 16;
  void run(const float* in, float* out, int n) const;
 private:
  float gamma_ = 0.45f;
};

"""
run = "void Corrector::run(const float* in, float* out, int n) const {\n  correct<<<(n + kBlock - 1) / kBlock, kBlock>>>(in, out, gamma_, n);\n}\n\n"
open("owner.cu", "w").write(head + owner + body.replace("BLOCK", "Corrector::kBlock") + run + main.replace(launch, "Corrector().run(in, out, n)"))
P
check() {  # check FILE KNOB PATTERN: the knob is scanned and tuned, and the patch has a line like PATTERN.
  rm -rf .kernelift
  expect_exit 0 "$KL" build --device cpu -- nvcc -O2 "$1.cu" -o gamma
  expect_exit 0 "$KL" scan --json
  [ "$(json '[k["name"] for k in d["knobs"]]')" = "['$2']" ] || fail "$1: the knobs are $(json 'd["knobs"]'), not $2"
  expect_exit 0 "$KL" record -- ./gamma
  expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
  expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers params --evals 4
  expect_says "$2 16 -> "
  expect_exit 0 "$KL" apply "$(ls -t .kernelift/runs/*.klrun | head -1)" --device cpu --dry-run
  grep -qE "$3" "$WORK/.out" && [ "$(grep -c '^[-+] ' "$WORK/.out")" -eq 2 ] || { cat "$WORK/.out" >&2; fail "$1: the patch does not write the value where it is defined"; }
}
check policy Policy::BLOCK '^\+  static constexpr int BLOCK = [0-9]+;'
check listed app::Sizes::BLOCK '^\+  enum \{ BLOCK = [0-9]+, OTHER = 2 \};'
check owner Corrector::kBlock '^\+  static constexpr int kBlock = [0-9]+;'
