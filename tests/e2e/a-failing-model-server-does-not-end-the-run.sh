# A model server that replies with prose, wrong edits, half a reply, 429, 500 or nothing: the run ends normally and states
# in a sentence what was wrong. An invalid --llm specification is a usage error before anything is measured.
. "$(dirname "$0")/common.sh" "$@"
cat > server.py <<'P'
import http.server, json, sys, threading
how = sys.argv[1]
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if how == "nothing": return self.connection.close()
        if how in ("429", "500"):
            body = json.dumps({"error": {"message": "the server says " + how}}).encode()
            self.send_response(int(how))
            self.send_header("Retry-After", "0")
        else:
            text = {"prose": "I would look at memory coalescing first. What do you think?",
                    "edits": "<<<<<<< SEARCH\nthis line is nowhere\n=======\nneither is this\n>>>>>>> REPLACE\n"}.get(how, "")
            body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 5, "completion_tokens": 5}}).encode()
            self.send_response(200)
        if how == "half": body = body[:20]
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
P
cat > app.cu <<'C'
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 2 + 1; }
int main() { float* x; cudaMalloc(&x, 65536); cudaMemset(x, 0, 65536); twice<<<64, 256>>>(x, 16384); return cudaDeviceSynchronize(); }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract twice --out mep
export OPENAI_API_KEY=none
for how in prose edits half nothing 429 500; do
  coproc SERVER { exec python3 server.py $how; }
  read -r PORT <&"${SERVER[0]}"
  expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source --without-rule all --llm-calls 1 --time 300 --llm "openai:http://127.0.0.1:$PORT/v1,fake" -v
  case $how in
    prose|edits) expect_says "an answer could not be applied" ;;
    half|nothing) expect_says "no answer" ;;
    *) expect_says "the server says $how" ;;
  esac
  kill "$SERVER_PID"; wait "$SERVER_PID" 2>/dev/null || true
done
expect_exit 2 "$KL" tune mep --device cpu --evals 3 --llm nonsense
expect_says "nonsense"; expect_brief 2
