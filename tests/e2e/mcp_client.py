# Clients of `kernelift mcp` over real pipes and over HTTP, for end-to-end tests: they speak as the specification of the
# Model Context Protocol says (2025-06-18, 2025-11-25), and check every message of the server by it.
import http.client, json, os, select, subprocess, time


class Client:
    def __init__(self, words, transcript=None, version="2025-06-18"):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pending, self.answers, self.progress, self.next_id = b"", {}, [], 0
        self.errors_without_id, self.transcript = [], transcript
        self.hello = self.request("initialize", {"protocolVersion": version, "capabilities": {},
                                                 "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")

    def write(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def notify(self, method, params=None):
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}))

    def post(self, method, params=None):
        """Sends a request and returns its id."""
        self.next_id += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params or {}}))
        return self.next_id

    def take(self, message):
        assert message["jsonrpc"] == "2.0", message
        if message.get("method") == "notifications/progress":
            self.progress.append(message["params"])
            return
        assert "method" not in message and ("result" in message) != ("error" in message), message
        if message["id"] is None:
            self.errors_without_id.append(message)
        else:
            assert message["id"] not in self.answers, "answered twice: " + str(message)
            self.answers[message["id"]] = message

    def listen(self, seconds):
        """Takes what comes within so many seconds, at least one message if one comes."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        if not ready:
            return False
        more = os.read(self.process.stdout.fileno(), 1 << 16)
        assert more, "the server has ended"
        *lines, self.pending = (self.pending + more).split(b"\n")
        for line in lines:
            message = json.loads(line)
            for one in message if isinstance(message, list) else [message]:
                self.take(one)
        return True

    def wait(self, id, seconds=300):
        end = time.monotonic() + seconds
        while id not in self.answers:
            assert time.monotonic() < end, f"no answer to {id}"
            self.listen(0.5)
        return self.answers[id]

    def request(self, method, params=None, seconds=300):
        answer = self.wait(self.post(method, params), seconds)
        assert "result" in answer, answer
        return answer["result"]

    def call(self, tool, arguments=None, seconds=600, token=None):
        """The document that a tool answers, or the sentence of its error."""
        params = {"name": tool, "arguments": arguments or {}}
        if token:
            params["_meta"] = {"progressToken": token}
        begun = time.monotonic()
        result = self.request("tools/call", params, seconds)
        text = result["content"][0]["text"]
        assert len(text.encode()) <= 4096, f"{tool} answers {len(text.encode())} bytes"
        document = text if result["isError"] else json.loads(text)
        if not result["isError"]:
            assert result["structuredContent"] == document
            assert document["format"].startswith("kernelift-mcp-") and document["version"] == 1, document
        if self.transcript is not None:
            self.transcript.append((tool, arguments or {}, document, time.monotonic() - begun))
        return document

    def code(self, text):
        """The code of the error with which a line is answered that has no id, or an id 'odd'."""
        self.answers.pop("odd", None)
        before = len(self.errors_without_id)
        self.write(text)
        while len(self.errors_without_id) == before and "odd" not in self.answers:
            assert self.listen(20), "no answer to " + text
        answer = self.answers["odd"] if "odd" in self.answers else self.errors_without_id[-1]
        return answer.get("error", {}).get("code", 0)

    def close(self, seconds=20):
        self.process.stdin.close()
        return self.process.wait(seconds)


class HttpClient:
    """A session of the streamable HTTP transport; each request has a connection of its own, as a thread may send one."""
    def __init__(self, url, token, version="2025-11-25"):
        self.place, self.path = url.removeprefix("http://").split("/", 1)
        self.fields = {"Authorization": "Bearer " + token, "Accept": "application/json, text/event-stream",
                       "Content-Type": "application/json"}
        self.next_id, self.progress = 0, []
        status, fields, messages = self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
        assert status == 200 and messages[0]["result"]["protocolVersion"] == version, (status, messages)
        self.fields |= {"MCP-Session-Id": fields["MCP-Session-Id"], "MCP-Protocol-Version": version}
        assert self.notify("notifications/initialized") == 202

    def send(self, message, method="POST"):
        """Status, header fields and messages of the answer: one document, or the events of a stream."""
        connection = http.client.HTTPConnection(self.place, timeout=300)
        body = message if isinstance(message, (str, bytes)) else json.dumps(message)
        connection.request(method, "/" + self.path, body, self.fields)
        answer = connection.getresponse()
        text, kind = answer.read().decode(), answer.headers.get("Content-Type", "")
        connection.close()
        if kind == "text/event-stream":
            events = [event.split("data: ", 1)[1] for event in text.split("\n\n") if event]
            return answer.status, answer.headers, [json.loads(event) for event in events]
        return answer.status, answer.headers, [json.loads(text)] if text else []

    def notify(self, method, params=None):
        return self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})[0]

    def request(self, method, params=None, id=None):
        """The answer, or None if the request was cancelled."""
        if id is None:
            self.next_id += 1
            id = self.next_id
        status, _, messages = self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        self.progress += [one["params"] for one in messages if one.get("method") == "notifications/progress"]
        answers = [one for one in messages if "method" not in one]
        assert (status, len(answers)) in ((200, 1), (202, 0), (200, 0)), (status, messages)
        assert not answers or answers[0]["id"] == id, messages
        return answers[0] if answers else None

    def call(self, tool, arguments=None, token=None, id=None):
        params = {"name": tool, "arguments": arguments or {}, **({"_meta": {"progressToken": token}} if token else {})}
        answer = self.request("tools/call", params, id)
        if answer is None: return None
        result = answer["result"]
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)

    def close(self):
        assert self.send("", "DELETE")[0] == 204


def descendants(of, deep=True):
    """Processes below a process, by /proc; not deep: its own children alone."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = open(f"/proc/{name}/stat").read()
            except OSError:
                continue
            children.setdefault(int(stat[stat.rindex(")") + 2 :].split()[1]), []).append(int(name))
    found, look = [], [of]
    while look:
        below = children.get(look.pop(), [])
        found += below
        look += below if deep else []
    return found


def alive(processes):
    """Those that have not ended; one that only waits for its parent has."""
    def state(process):
        try:
            stat = open(f"/proc/{process}/stat").read()
            return stat[stat.rindex(")") + 2]
        except OSError:
            return "X"
    return [one for one in processes if state(one) not in "ZX"]


def all_gone(processes, seconds=15):
    end = time.monotonic() + seconds
    while alive(processes) and time.monotonic() < end:
        time.sleep(0.1)
    return not alive(processes)
