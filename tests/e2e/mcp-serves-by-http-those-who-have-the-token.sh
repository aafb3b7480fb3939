# `kernelift mcp --http`: a conversation of 200 calls over loopback with cancellations, and a client that is killed in the
# middle of a call, leave no process and no lock; nobody is served without the token.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app && cp "$SRC/tests/e2e/gamma.cu" .
printf 'gamma\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./gamma
expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
cat > "$WORK/clients.py" <<'P'
import glob, json, os, stat, subprocess, sys, threading, time
sys.path.insert(0, sys.argv[2])
from mcp_client import HttpClient, all_gone, alive, descendants
server = subprocess.Popen([sys.argv[1], "mcp", "--http", "0", "--json", "--device", "cpu", "--idle", "2s"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
where = json.loads(server.stdout.readline())
assert where["url"].startswith("http://127.0.0.1:") and where["url"].endswith("/mcp"), where
assert stat.S_IMODE(os.stat(where["token_file"]).st_mode) == 0o600, "others can read the token"
token = open(where["token_file"]).read().strip()
agent = HttpClient(where["url"], token)

# Strangers.
agent.fields["Authorization"] = "Bearer " + "0" * 64
assert agent.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 401
agent.fields["Authorization"] = "Bearer " + token
agent.fields["Origin"] = "https://example.com"
assert agent.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 403
del agent.fields["Origin"]

source = open(".kernelift/mep/k/kernel.cu").read()
good = {"kernel": "k", "candidates": [{"source": source}]}
asked = cancelled = 0
for round in range(20):
    for tool, arguments, words in (
            ("hot_list", {"most": 1}, "correct"), ("hot_list", {"most": 0}, "most is at least 1"),
            ("check", good, '"ok"'), ("check", {"kernel": "k", "candidates": []}, "at least 1 entries"),
            ("check", {"kernel": "k", "candidates": [{"file": "../gamma.cu"}]}, "outside"),
            ("facts", {"kernel": "nothing"}, "no MEP"), ("status", {}, "there is no job"), ("cancel", {"job": 9}, "no job 9"),
            ("apply", {"run": "../../etc/passwd"}, "no run")):
        answer = agent.call(tool, arguments, token="t" if tool == "check" else None)
        assert words in json.dumps(answer), (tool, arguments, answer)
        asked += 1
    assert agent.request("ping") is not None
    asked += 1
    if round % 5: continue
    # A call that the evaluator works on, and one that waits for it, cancelled by requests of their own.
    answers = {}
    # Of several texts, each other code than all before, so that the call lasts on a fast machine, too.
    others = [{"source": f"{source}\n__device__ int spare_{round}_{i} = {i};\n"} for i in range(4)]
    def call(id): answers[id] = agent.call("evaluate", {"kernel": "k", "candidates": others, "confirm": True}, id=id)
    threads = [threading.Thread(target=call, args=(f"c{round}-{i}",)) for i in range(2)]
    for one in threads: one.start()
    time.sleep(0.2)
    for i in range(2): assert agent.notify("notifications/cancelled", {"requestId": f"c{round}-{i}"}) == 202
    for one in threads: one.join()
    asked, cancelled = asked + 2, cancelled + sum(answer is None for answer in answers.values())
assert asked >= 200 and cancelled >= 6, (asked, cancelled)
assert agent.progress and all(one["progressToken"] == "t" for one in agent.progress), "progress comes as events"

# A client that is killed in the middle of a call, and one whose session ends.
killed = subprocess.Popen([sys.executable, "-c", "import json, sys; sys.path.insert(0, sys.argv[1]); from mcp_client import *\n"
    "HttpClient(sys.argv[2], sys.argv[3]).call('evaluate', {**json.loads(sys.argv[4]), 'confirm': True})",
    sys.argv[2], where["url"], token, json.dumps(good)])
end = time.monotonic() + 30
while not descendants(server.pid) and time.monotonic() < end: time.sleep(0.05)
evaluators = descendants(server.pid)
assert evaluators, "the call has not begun"
killed.kill(), killed.wait()
assert all_gone(evaluators, 60) and not alive(descendants(server.pid)), "the evaluator stays up for ever"
job = agent.call("tune", {"kernel": "k", "seconds": 600})["job"]
while not glob.glob(".kernelift/runs/*.klrun") and time.monotonic() < end + 60: time.sleep(0.1)
agent.close()
assert agent.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 404, "its session is over"
again = HttpClient(where["url"], token)
assert again.call("status", {"job": job})["state"] == "running", "a job is the application's, not a session's"
processes = descendants(server.pid)
assert processes
server.terminate()
assert server.wait(20) == 130 and all_gone(processes)
P
expect_exit 0 python3 "$WORK/clients.py" "$KL" "$SRC/tests/e2e"
# The run's lock is free; and a token that others can read is not used.
expect_exit_in "0 1" "$KL" tune k --device cpu --resume --evals 1
chmod 644 .kernelift/mcp.token
expect_exit 3 "$KL" mcp --http 0 --device cpu
expect_says "others may read or change the token"
expect_brief
[ -z "$(git status --porcelain)" ] || fail "the application was changed"
