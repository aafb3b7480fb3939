# A model server that says back what it was sent (the key, the URL's password and query, in errors, answers and edits): none
# of it reaches the terminal, a transcript, the run, its exports, the report or the MEP, whatever the variable's name.
. "$(dirname "$0")/common.sh" "$@"
cat > server.py <<'P'
import base64, http.server, json, re, sys
how = sys.argv[1]
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_POST(self):
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        said = "%s %s %s %s" % (self.headers.get("Authorization"), self.path, sys.argv[2],
                                base64.b64decode((self.headers.get("Authorization") or "").split(" ")[-1] + "==") if how == "decoded" else "")
        status, text = 200, said
        if how in ("401", "500"): status, body = int(how), json.dumps({"error": {"message": "no: " + said}})
        else:
            if how == "edit":  # The whole file that was sent, with what was said behind it.
                source = re.findall(r"```\w*\n(.*?)```", json.loads(asked)["messages"][-1]["content"], re.S)[-1]
                text = "IDEA: %s\n```cuda\n%s// %s\n```\n" % (said, source, said)
            body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 5, "completion_tokens": 5}})
        body = body.encode()
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
P
cat > app.cu <<'C'
__global__ void twice(float* x, int n) {
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n) x[i] = x[i] * 2 + 1;
}
int main() { float* x; cudaMalloc(&x, 65536); cudaMemset(x, 0, 65536); twice<<<64, 256>>>(x, 16384); return cudaDeviceSynchronize(); }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract twice --out .kernelift/mep/twice
export OPENAI_API_KEY=sk-canary-of-openai-1 CORP_GATEWAY_TOKEN=canary-of-the-gateway-2
: > said
printf '%s\n' "$OPENAI_API_KEY" > "$WORK/key"; chmod 600 "$WORK/key"
for how in edit prose 401 500 "401 of a file"; do
  [ "$how" != "401 of a file" ] || { KEY=$OPENAI_API_KEY; unset OPENAI_API_KEY; export OPENAI_API_KEY_FILE=$WORK/key; }
  coproc SERVER { exec python3 server.py ${how%% *} $CORP_GATEWAY_TOKEN; }
  read -r PORT <&"${SERVER[0]}"
  expect_exit_in "0 1" "$KL" tune .kernelift/mep/twice --device cpu --tiers source --without-rule all --llm-calls 1 --time 300 -v \
    --llm "openai:http://joe:canary-of-the-url-3@127.0.0.1:$PORT/v1?api=canary-of-the-query-4,fake"
  cat "$WORK/.out" "$WORK/.err" >> said
  kill "$SERVER_PID"; wait "$SERVER_PID" 2>/dev/null || true
done
grep -q "check OPENAI_API_KEY_FILE" said || fail "the key of the file was not sent"
export OPENAI_API_KEY=$KEY
RUN=$(ls .kernelift/runs/*.klrun | head -1)
for format in json t4 cachefile; do "$KL" export "$RUN" --to $format -o export.$format; done
"$KL" export "$RUN" --to json >> said
"$KL" report "$RUN" -o report.html
# The model was asked, and its words were kept: otherwise nothing here was tested.
ls .kernelift/runs/*.transcripts/*.json >/dev/null || fail "no transcript was kept"
grep -qF "[secret]" export.json || { cat said >&2; fail "the edit that holds the key was not tried"; }
grep -qF "no: Bearer [secret]" said || fail "the server's refusal was not shown"
! grep -rlaE "canary|$(printf %s "$OPENAI_API_KEY" | base64 | cut -c1-16)" .kernelift export.* report.html said || fail "a secret was written"
# A specification that cannot be read is quoted without its password, and so is a server that cannot be reached.
expect_exit 2 "$KL" tune twice --llm "mistral:https://joe:canary-of-the-url-5@host/v1,m"; ! grep -q canary "$WORK/.err" || fail "the password was printed"
