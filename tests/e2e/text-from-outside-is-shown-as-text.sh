# Notes, asserts, names of files and kernels, diagnostics and expressions that hold escape sequences, line breaks, hidden
# characters or hundreds of kilobytes: no terminal obeys them, one line stays one line, and JSON loses nothing.
. "$(dirname "$0")/common.sh" "$@"
# plain FILE...: nothing in it but lines, tabs and what is seen.
plain() { python3 - "$@" <<'P'
import sys, unicodedata
for name in sys.argv[1:]:
    text = open(name, "rb").read().decode("utf-8")
    bad = [c for c in text if (unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") and c not in "\n\t")]
    assert not bad, (name, bad[:5], text[:400])
    assert max(map(len, text.split("\n"))) < 17000 or name.endswith(".json"), name
P
}
ODD=$(printf 'odd\033[31m\342\200\256\nkernelift: kept')
mkdir "$ODD" && cd "$ODD"
cat > app.cu <<'C'
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 2 + 1; }
int main() { float* x; cudaMalloc(&x, 65536); cudaMemset(x, 0, 65536); twice<<<64, 256>>>(x, 16384); return cudaDeviceSynchronize(); }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app; plain "$WORK/.out" "$WORK/.err"
expect_exit 0 "$KL" scan; plain "$WORK/.out" "$WORK/.err"
expect_exit 0 "$KL" record -- ./app; plain "$WORK/.out" "$WORK/.err"
expect_exit 0 "$KL" extract twice; plain "$WORK/.out" "$WORK/.err" .kernelift/mep/*/README.md
! grep -q "^kernelift: kept" "$WORK/.out" "$WORK/.err" .kernelift/mep/*/README.md || { grep -n "^kernelift: kept" "$WORK/.out" "$WORK/.err" .kernelift/mep/*/README.md >&2; fail "a line was forged"; }
python3 - <<'P'
import json, glob
source = open(glob.glob(".kernelift/mep/*/kernel.cu")[0]).read()
evil = "\x1b[2J\x1b]0;title\x07\nkernelift: everything is fine\u202e\u200b\x9b31m"
def candidate(text, **more): return json.dumps(dict(source=text, note=evil, **more))
body = "x[i] = x[i] * 2 + 1;"
with open("candidates.jsonl", "w") as out:
    for text in (source, source.replace(body, "x[i] = 7;"),
                 source.replace(body, "no_such_name_\x1b[31m(x);"),
                 source.replace(body, "__assertfail(\"%s\", \"f\\x1b[31m\\n\", 1, \"\", 1);" % "\\x1b[2J\\nforged")):
        out.write(candidate(text) + "\n")
    out.write(candidate(source, launches=[{"kernel": "twice", "grid": ["1" + "+1" * 200000]}]) + "\n")
P
expect_exit_in "0 1 2" "$KL" evaluate twice candidates.jsonl --device cpu -v; plain "$WORK/.out" "$WORK/.err"
! grep -q "^kernelift: everything" "$WORK/.out" "$WORK/.err" || fail "a note forged a line"
[ "$(wc -c <"$WORK/.out")" -lt 20000 ] && [ "$(wc -c <"$WORK/.err")" -lt 20000 ] || fail "a huge expression was echoed"
head -2 candidates.jsonl > few.jsonl
expect_exit_in "0 1" "$KL" evaluate twice few.jsonl --device cpu --json; plain "$WORK/.err"
LC_ALL=C grep -q '[^ -~]' "$WORK/.out" && { fail "the JSON is not plain ASCII"; }
[ "$(json 'len(d["verdicts"])')" = 2 ] || fail "not both were judged"
expect_exit 2 "$KL" "$(printf 'no\033[2Jverb')"; plain "$WORK/.err"
expect_exit_in "2 3" "$KL" report "$(printf 'no\033[2J\nrun')" -o x.html; plain "$WORK/.err"
! grep -q "^run" "$WORK/.err" || fail "a name began a line"
