# A client of `kernelift mcp` finds the hot kernel, extracts it, judges changes by hand, has it tuned, and gets the patch: every
# answer fits into 4 KiB, and the second candidate is judged by the evaluator that the first one started.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app && cp "$SRC/tests/e2e/gamma.cu" .
printf 'gamma\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./gamma
cat > "$WORK/agent.py" <<'P'
import json, sys
sys.path.insert(0, sys.argv[2])
from mcp_client import Client, all_gone, descendants
transcript = []
agent = Client([sys.argv[1], "mcp", "--device", "cpu", "--build", "nvcc -O2 gamma.cu -o gamma", "--run", "./gamma"], transcript)
tools = {tool["name"]: tool for tool in agent.request("tools/list")["tools"]}
assert tools["facts"]["annotations"]["readOnlyHint"] and tools["apply"]["annotations"]["destructiveHint"], tools
assert agent.call("doctor")["usable"]
hot = agent.call("hot_list")
assert hot["kernels"][0]["name"] == "correct" and "mep" not in hot["kernels"][0], hot
assert agent.call("extract", {"kernel": "correct"})["proven"]
assert agent.call("hot_list")["kernels"][0]["mep"]
facts = agent.call("facts", {"kernel": "correct"})
assert facts["launches"][0]["values"]["n"] == 65536 and facts["knobs"][0]["name"] == "BLOCK", facts
source = agent.request("resources/read", {"uri": facts["source_resource"]})["contents"][0]["text"]
assert "does with memory" in str(agent.request("resources/list")), "the model is a resource"

wide = source.replace("BLOCK 16", "BLOCK 128")
assert wide != source, source
# The launch follows: half the threads of before do nothing otherwise.
launches = [{"kernel": "correct", "grid": ["(gx * bx + 127) / 128", "1", "1"], "block": ["128", "1", "1"]}]
texts = [{"name": "wider blocks", "source": wide, "launches": launches},
         {"name": "off by one", "source": source.replace("out[i] =", "out[i] = i == 5 ? 0.0f :")},
         {"name": "no such name", "source": source.replace("out[i] =", "out[i] = missing +")}]
assert texts[1]["source"] != source, source
checked = agent.call("check", {"kernel": "correct", "candidates": texts}, token="checking")["results"]
assert [one["verdict"] for one in checked] == ["ok", "wrong", "compile_failed"], checked
assert checked[1]["first_difference"]["index"] == 5 and checked[1]["first_difference"]["got"] == "0", checked
assert "speedup" not in checked[0], "check times nothing"
assert {one["progressToken"] for one in agent.progress} == {"checking"} and agent.progress[-1]["progress"] == 3, agent.progress
evaluator = [one for one in descendants(agent.process.pid)]
judged = agent.call("evaluate", {"kernel": "correct", "candidates": texts[:1]})["results"][0]
assert judged["verdict"] == "ok" and judged["speedup_interval"][0] <= judged["speedup"] <= judged["speedup_interval"][1], judged
assert not judged["confirmed"], judged
assert set(evaluator) & set(descendants(agent.process.pid)), "the evaluator stayed up"
agent.call("evaluate", {"kernel": "correct", "candidates": texts[:1], "confirm": True})
# Without a launch of its own it is launched as the application would. What was judged is in a run, under one number however
# often it is judged, and can be applied.
knob = [{"name": "a wider BLOCK", "source": wide}]
judged = agent.call("evaluate", {"kernel": "correct", "candidates": knob})
claimed = agent.call("evaluate", {"kernel": "correct", "candidates": knob, "confirm": True})
assert claimed["results"][0]["verdict"] == "ok", claimed
assert claimed["run"] == judged["run"] and claimed["results"][0]["trial"] == judged["results"][0]["trial"], (judged, claimed)
patch = agent.call("apply", {"run": claimed["run"], "candidate": claimed["results"][0]["trial"]})
assert patch["dry_run"] and "+#define BLOCK 128" in patch["diff"], patch
agent.transcript = None
# A text with declared parameters is judged at the setting that is asked for, and launched as the application would.
declared = source.replace("#define BLOCK 16", "#define BLOCK 16  // kernelift: tune BLOCK in {16, 64, 128}")
assert declared != source, source
settings = [{"source": declared}, {"source": declared, "values": {"BLOCK": 64}}]
checked = agent.call("check", {"kernel": "correct", "candidates": settings})["results"]
assert [(one["verdict"], one["setting"]["BLOCK"]) for one in checked] == [("ok", 16), ("ok", 64)], checked
refused = agent.call("check", {"kernel": "correct", "candidates": [{"source": declared, "values": {"BLOCK": 32}}]})
assert "none of its declared values" in refused, refused
agent.transcript = transcript

job = agent.call("tune", {"kernel": "correct", "evaluations": 12})
assert job["state"] == "running", job
assert "measuring" in agent.call("evaluate", {"kernel": "correct", "candidates": texts[:1]})
while (state := agent.call("status", {"job": job["job"], "wait_seconds": 60}))["state"] == "running": pass
assert state["state"] == "done", state
profile = agent.call("profile", {"kernel": "correct"})
assert profile["reproduced"] and "no counters" in profile["bounded_by"], profile
facts = agent.call("facts", {"kernel": "correct"})
assert any(line.startswith("parameters: ") for line in facts["tried"]) or facts["whole"], facts
whole = json.dumps(state) + (agent.request("resources/read", {"uri": state["whole"]})["contents"][0]["text"] if "whole" in state else "")
assert '"seed"' not in whole and '"unshown": [' not in whole and '"unshown":[' not in whole, "hidden sizes were told"
if state["result"]["gained_applicable"]:
    patch = agent.call("apply", {"run": "correct"})
    assert patch["dry_run"] and "gamma.cu" in patch["files"] and patch["diff"].startswith("--- a/gamma.cu"), patch
else:
    assert "gain" in agent.call("apply", {"run": "correct"})
processes = descendants(agent.process.pid)
assert agent.close() == 0 and all_gone(processes)
if len(sys.argv) > 3:  # For the documentation.
    with open(sys.argv[3], "w") as out:
        for tool, arguments, document, seconds in transcript:
            print(f"--> {tool} {json.dumps(arguments)}\n<-- {seconds:.2f} s: {json.dumps(document)}\n", file=out)
P
expect_exit 0 python3 "$WORK/agent.py" "$KL" "$SRC/tests/e2e" ${KERNELIFT_SESSION:-}
[ -z "$(git status --porcelain)" ] || fail "a session without an apply changed the application"
