# 200 calls, right and malformed, of tools, resources and what is neither, with cancellations and early ends of the client: each
# is answered as the protocol says, and no process and no lock is left.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app && cp "$SRC/tests/e2e/gamma.cu" .
printf 'gamma\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./gamma
expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
expect_exit 0 "$KL" extract correct --out .kernelift/mep/other
expect_exit_in "0 1" "$KL" tune k --device cpu --evals 2
cat > "$WORK/clients.py" <<'P'
import json, os, signal, subprocess, sys, time
sys.path.insert(0, sys.argv[2])
from mcp_client import Client, all_gone, descendants
# Freed memory is overwritten: nothing may be used that is gone.
words = ["env", "MALLOC_PERTURB_=165", sys.argv[1], "mcp", "--device", "cpu", "--idle", "4s"]
agent = Client(words)
source = open(".kernelift/mep/k/kernel.cu").read()
good = {"kernel": "k", "candidates": [{"source": source}]}
asked = 0
def says(tool, arguments, words):
    global asked
    asked += 1
    answer = agent.call(tool, arguments)
    assert words in json.dumps(answer), (tool, arguments, answer)

for round in range(4):
    says("doctor", {}, "usable")
    says("hot_list", {"most": 1}, "correct")
    says("hot_list", {"most": 0}, "most is at least 1")
    says("facts", {"kernel": "k"}, "memory_model")
    says("facts", {}, "kernel is missing")
    says("facts", {"kernel": ["k"]}, "kernel is a text, not a list")
    says("facts", {"kernel": "k", "colour": 1}, "colour is not known; known are kernel")
    says("facts", {"kernel": "nothing"}, "no MEP of a kernel with this name")
    says("facts", {"kernel": "../../../etc"}, "outside of the application's folder")
    says("facts", {"kernel": "/etc"}, "outside of the application's folder")
    says("check", good, '"ok"')
    says("check", {"kernel": "k", "candidates": []}, "at least 1 entries")
    says("check", {"kernel": "k", "candidates": [{"file": "../gamma.cu"}]}, "outside of the application's folder")
    says("check", {"kernel": "k", "candidates": [{"file": "none.cu"}]}, "does not exist")
    says("check", {"kernel": "k", "candidates": [{"file": ".kernelift/mep/k/kernel.cu"}]}, '"ok"')
    says("check", {"kernel": "k", "candidates": [{"source": ""}]}, "verdict")
    says("check", {"kernel": "k", "candidates": [{"source": source, "launches": [{"kernel": "correct", "grid": ["%%"]}]}]}, "%%")
    says("check", {"kernel": "k", "candidates": [{"source": "#include \"/etc/passwd\"\n" + source}]}, "refused")
    says("evaluate", good, "speedup_interval")
    says("evaluate", {**good, "confirm": "yes"}, "confirm is true or false")
    says("extract", {"kernel": "--help"}, "no kernel is called")
    says("status", {}, "there is no job")
    says("status", {"job": 9}, "there is no job")
    says("cancel", {"job": 9}, "there is no job 9")
    says("tune", {"kernel": "k", "seconds": -1}, "at least 1")
    says("apply", {"run": "../../etc/passwd"}, "no run")
    says("apply", {"run": "/etc/passwd"}, "outside")
    says("apply", {"run": "k", "dry_run": False}, "started without the application's commands")
    for text, code in (("{", -32700), ("[]", -32600), ("null", -32600), ('"a"', -32600), ("\xff", -32700),
                       ('{"jsonrpc":"2.0","id":"odd"}', -32600), ('{"jsonrpc":"2.0","id":"odd","method":3}', -32600),
                       ('{"id":"odd","method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
                       ('{"jsonrpc":"2.0","id":"odd","method":"nothing"}', -32601),
                       ('{"jsonrpc":"2.0","id":"odd","method":"ping","params":3}', -32602),
                       ('{"jsonrpc":"2.0","id":"odd","method":"initialize","params":{}}', -32600),
                       ('{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"rm"}}', -32602),
                       ('{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":3}}', -32602),
                       ('{"jsonrpc":"2.0","id":"odd","method":"tools/list","params":{"cursor":"x"}}', -32602),
                       ('{"jsonrpc":"2.0","id":"odd","method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32002),
                       ('{"jsonrpc":"2.0","id":"odd","method":"resources/read","params":{"uri":"kernelift://meps/../source"}}', -32002),
                       ("[" * 5000 + "]" * 5000, -32700), ('{"a":"' + "x" * (9 << 20) + '"}', -32700)):
        asked += 1
        assert agent.code(text) == code, (text[:80], agent.errors_without_id[-1:], agent.answers.get("odd"))
    agent.write('[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","id":"b2","method":"tools/call","params":'
                '{"name":"doctor"}}]')
    agent.wait("b1"), agent.wait("b2"), agent.answers.pop("b1"), agent.answers.pop("b2")
    asked += 2
    # Cancelled calls are not answered: one that waits for the evaluator, one that it works on, one of a verb.
    calls = [agent.post("tools/call", {"name": name, "arguments": arguments}) for name, arguments in
             (("evaluate", {**good, "confirm": True}), ("check", good), ("facts", {"kernel": "k"}))]
    for one in calls: agent.notify("notifications/cancelled", {"requestId": one, "reason": "test"})
    agent.notify("notifications/cancelled", {"requestId": 10**9}), agent.notify("notifications/cancelled", {})
    agent.request("ping")
    assert not set(calls) & set(agent.answers), "a cancelled call was answered"
    asked += 4
assert asked >= 200, asked

# Without work the evaluator is given back, and comes again.
agent.call("check", good)
evaluator = descendants(agent.process.pid)
assert evaluator and all_gone(evaluator, 20), "the evaluator stays up for ever"
agent.call("check", good)

# A MEP that has changed meanwhile gets another evaluator: the old one would judge by what is no longer there.
before = descendants(agent.process.pid, deep=False)
agent.call("check", good)
assert before == descendants(agent.process.pid, deep=False), "an unchanged MEP keeps its evaluator"
with open(".kernelift/mep/k/kernel.cu", "a") as changed: changed.write("// extracted anew\n")
agent.call("check", good)
assert not set(before) & set(descendants(agent.process.pid, deep=False)), "the old evaluator has judged"
with open(".kernelift/mep/k/kernel.cu", "w") as restored: restored.write(source)

# Questions about two kernels that wait for each other's evaluator: each gets its own.
calls = [agent.post("tools/call", {"name": "check", "arguments": {**good, "kernel": kernel}}) for kernel in ("k", "other", "k", "other")]
for one in calls: assert '"ok"' in json.dumps(agent.wait(one)).replace("\\", ""), agent.answers[one]
evaluators = descendants(agent.process.pid, deep=False)
assert len(evaluators) == 1, evaluators

# A job that is cancelled keeps what it has.
job = agent.call("tune", {"kernel": "k", "seconds": 600})["job"]
time.sleep(3)
assert agent.call("cancel", {"job": job})["state"] in ("ending", "cancelled")
while (state := agent.call("status", {"job": job, "wait_seconds": 30}))["state"] == "ending": pass
assert state["state"] == "cancelled", state

def leaves_nothing(end, work):
    """Whatever ends the conversation, and whatever is going on: processes and locks are gone."""
    agent = Client(words)
    if work: agent.post("tools/call", {"name": work, "arguments": {"kernel": "k", "seconds": 600} if work == "tune" else good})
    for _ in range(100):
        time.sleep(0.1)
        if not work or len(descendants(agent.process.pid)) > 2: break
    processes = descendants(agent.process.pid)
    end(agent)
    assert all_gone(processes), (work, processes)
    agent.process.wait(20)
for work in (None, "check", "tune"):
    leaves_nothing(lambda agent: agent.close(), work)
    leaves_nothing(lambda agent: agent.process.send_signal(signal.SIGTERM), work)
    leaves_nothing(lambda agent: agent.process.kill(), work)
# A client that is killed, with the pipes that it alone has.
client = subprocess.Popen([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[2]); from mcp_client import *\n"
    "agent = Client(sys.argv[3:]); agent.post('tools/call', {'name': 'tune', 'arguments': {'kernel': 'k', 'seconds': 600}})\n"
    "import time; time.sleep(1000)", "-", sys.argv[2], *words])
end = time.monotonic() + 60
while len(descendants(client.pid)) < 4 and time.monotonic() < end: time.sleep(0.1)
processes = descendants(client.pid)
client.kill(), client.wait()
assert all_gone(processes), processes
assert agent.close() == 0
P
expect_exit 0 python3 "$WORK/clients.py" "$KL" "$SRC/tests/e2e"
# The runs' locks are free: the latest can be continued.
expect_exit_in "0 1" "$KL" tune k --device cpu --resume --evals 1
[ -z "$(git status --porcelain)" ] || fail "the application was changed"
