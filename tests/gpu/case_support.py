"""Helpers of run_cases and run_faults: running programs, reading captures and scans, and damaging MEPs in the way in which a
faulty recorder would have written them."""
import ctypes, json, os, pathlib, re, shutil, signal, subprocess, threading, time


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Done:
    """The result of a program. memory_mib is the largest resident size of any process among it and its descendants."""

    def __init__(self, code, out, err, timed_out, memory_mib):
        self.code, self.out, self.err, self.timed_out, self.memory_mib = code, out, err, timed_out, memory_mib

    def tail(self, most=700):
        text = (self.out + "\n" + self.err).strip()
        return ("exceeded its time limit; " if self.timed_out else "") + (text if len(text) <= most else "…" + text[-most:])


def family(root):
    """Process ids of the process and its descendants, from /proc."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found = {root}
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grew = bool(more)
    return found


def watch_memory(process, peak):
    while process.poll() is None:
        for pid in family(process.pid):
            try:
                with open(f"/proc/{pid}/status") as status:
                    text = status.read()
                # Only anonymous memory counts: the driver's locked and pinned memory is shared with the device.
                resident = re.search(r"RssAnon:\s+(\d+) kB", text)
                peak[0] = max(peak[0], int(resident.group(1)) / 1024 if resident else 0)
            except OSError:
                continue
        time.sleep(0.05)


def run(command, folder, limit, environment=None):
    try:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, env={**os.environ, **(environment or {})})
    except OSError as trouble:
        raise Failure(f"{command[0]} cannot be started: {trouble}")
    peak = [0.0]
    watcher = threading.Thread(target=watch_memory, args=(process, peak), daemon=True)
    watcher.start()
    timed_out = False
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            out, err = b"", b"(killed, and did not die)"
    watcher.join(timeout=1)
    return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), timed_out, peak[0])


def device():
    """Name, architecture and driver version of the first GPU, queried through the driver; None without a GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    if cuda.cuInit(0) != 0:
        return None
    name, major, minor, version = ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuDeviceGetName(name, 256, 0) != 0:
        return None
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    return {"name": name.value.decode(), "arch": f"sm_{major.value}{minor.value}", "driver": version.value}


def read_directives(path):
    """`//! key: value` (or `#! key: value`) lines, in order."""
    found = []
    for line in path.read_text().splitlines():
        line = re.match(r"\s*(?://|#)!\s*([\w-]+)\s*(?::\s*(.*))?$", line)
        if line:
            found.append((line.group(1), (line.group(2) or "").strip()))
    return found


def matches(key, name, how=""):
    """True if a canonical key is that of the named function; with `how`, the name is a regular expression, for the long
    names of library templates."""
    if how:
        return re.search(name, key) is not None
    return re.search(rf"(?<![\w]){re.escape(name.split('@')[0])}(?![\w])", key) is not None


def instances_of(instances, name, how=""):
    return [one for one in instances if matches(one["kernel"], name, how)]


def omitted(report, pattern):
    return any(re.search(pattern, one["what"] + " " + one["why"], re.I) for one in report["omissions"])


def read_capture(folder):
    """All instances in a capture folder, including those of worker processes."""
    found = []
    for path in [folder / "instances.jsonl", *folder.glob("processes/*/instances.jsonl")]:
        if path.exists():
            for line in path.read_text().splitlines()[1:]:
                try:
                    found.append(json.loads(line)["instance"])
                except (ValueError, KeyError):
                    continue
    return found


def find_kernel(scan, name):
    """The scan's id of a kernel, by its plain name, or by `name@file` if two files define one of that name."""
    plain, _, file = name.partition("@")
    found = [kernel for kernel in json.loads(scan.read_text())["kernels"]
             if re.search(rf"(?<![\w]){re.escape(plain)}(?![\w])", kernel["name"]) and pathlib.Path(kernel["tu"]).name.endswith(file)]
    if len({kernel["id"] for kernel in found}) != 1:
        raise Failure(f"scan lists {len(found)} kernels named {name}: {[kernel['name'] for kernel in found]}")
    return found[0]["id"]


def copy_of(mep, suffix):
    copy = mep.with_name(mep.name + "-" + suffix)
    number = 2
    while copy.exists():  # The same kind of damage was used before.
        copy, number = mep.with_name(f"{mep.name}-{suffix}-{number}"), number + 1
    shutil.copytree(mep, copy, copy_function=os.link)
    (copy / "mep.json").unlink()
    document = json.loads((mep / "mep.json").read_text())
    document.pop("checksum", None)  # As a MEP of format 1: read without a checksum.
    document["version"] = 1
    return copy, document


def damage(mep, kind):
    """A copy of the MEP as a recorder with this mistake would have written it; None if the copy would be the same."""
    copy, document = copy_of(mep, kind)
    before = json.dumps(document)
    for one in document["instances"]:
        if kind == "after-as-before":
            for piece in one["regions"] + one["variables"]:
                piece["before"] = piece["after"] or piece["before"]
        elif kind == "first-arguments":
            one["arguments"] = document["instances"][0]["arguments"]
        elif kind == "drop-reached-through-memory":
            one["regions"] = [piece for piece in one["regions"] if not piece["reached_from"].startswith("0x")]
        elif kind == "drop-reached-inside-argument":
            one["regions"] = [piece for piece in one["regions"] if not re.match(r"arg \d+ \+\d+", piece["reached_from"])]
        elif kind == "drop-variables":
            one["variables"] = []
            one["symbols"] = [slot for slot in one.get("symbols", []) if slot.get("variable", -1) < 0]
        elif kind == "drop-settings":
            one.pop("settings", None)
        elif kind == "not-cooperative":
            one["geometry"]["cooperative"] = False
        else:
            raise Failure(f"no such damage: {kind}")
    if json.dumps(document) == before:
        return None
    (copy / "mep.json").write_text(json.dumps(document))
    return copy


def move_addresses(mep):
    """A copy whose regions, and the arguments that point to them, are above all user addresses, so that replay cannot map
    them."""
    beyond = 1 << 47
    copy, document = copy_of(mep, "moved")
    for one in document["instances"]:
        arguments = bytearray(bytes.fromhex(one["arguments"]))
        for piece in one["regions"]:
            for parameter in one["parameters"]:
                at, size = parameter["offset"], parameter["size"]
                value = int.from_bytes(arguments[at:at + size], "little")
                if size == 8 and piece["address"] <= value < piece["address"] + piece["size"]:
                    arguments[at:at + 8] = (value | beyond).to_bytes(8, "little")
        for piece in one["regions"]:
            piece["address"] |= beyond
        one["arguments"] = arguments.hex()
    (copy / "mep.json").write_text(json.dumps(document))
    return copy


# The endless loop reads a clock: a loop on a volatile variable is removed by ptxas in nvcc's build, though not in clang's.
PLANTED = {"fault": "*reinterpret_cast<volatile int*>(16) = 1;", "hang": "while (clock64() >= 0) {}"}


def edit_kernel(mep, name, kind, statement):
    """A copy whose kernel begins with a statement that a bad candidate might contain."""
    copy, document = copy_of(mep, "planted-" + kind)
    text = (mep / "kernel.cu").read_text()
    definition = re.search(rf"\b{name}\s*\([^{{;]*\)\s*\{{", text)
    if not definition:
        raise Failure(f"kernel.cu does not define {name}")
    (copy / "kernel.cu").unlink()
    (copy / "kernel.cu").write_text(text[:definition.end()] + " " + (statement or PLANTED[kind]) + text[definition.end():])
    (copy / "mep.json").write_text(json.dumps(document))
    return copy
