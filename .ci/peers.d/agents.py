"""What the checks against real agent programs share: the scripted model, a home of its own, runs of `plimsoll run`.

The environment names what is used: PLIMSOLL, the binary (default target/debug/plimsoll); PEERS_BIN, a folder with the
agent programs (default: they are installed by npm into target/peers).
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLIMSOLL = os.environ.get("PLIMSOLL", str(ROOT / "target" / "debug" / "plimsoll"))


def programs(package, name):
    """The path of a program, installed if it is not there."""
    folder = os.environ.get("PEERS_BIN")
    if folder is None:
        prefix = ROOT / "target" / "peers"
        folder = prefix / "node_modules" / ".bin"
        if not (folder / name).exists():
            prefix.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", prefix, package], check=True)
    return str(pathlib.Path(folder) / name)


class Bench:
    """A folder with a home, a project and the model's log; ended by `close`."""

    def __init__(self, agent, program):
        self.agent, self.program = agent, program
        # Not under the system's temporary folder: Codex does not put its own programs there.
        base = ROOT / "target" / "peers" / "run"
        base.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{agent}-", dir=base))
        self.home, self.work, self.log = (self.folder / name for name in ("home", "work", "log"))
        for folder in (self.home, self.work, self.log):
            folder.mkdir()
        self.model = subprocess.Popen([sys.executable, HERE / "model.py", "0", self.log], stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.model.stdout.readline().split()[1]}"
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "XDG_DATA_HOME": str(self.folder / "data")}
        self.passed, self.failed = 0, 0

    def arguments(self, *more):
        named = [f"--env={name}={value}" for name, value in self.extra.items()]
        return [PLIMSOLL, "run", "--agent", self.agent, "--agent-bin", self.program, "--json", "--timeout", "120",
                "--store", (self.folder / "store").as_uri(), *named, *more]

    extra = {}

    def run(self, *more):
        """Runs to the end: events, the last of them, the exit code, and the requests that the model got."""
        before = self.requests()
        done = subprocess.run(self.arguments(*more), cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return Ran(events, done.returncode, self.requests()[len(before):], done.stderr)

    def cancel(self, *more):
        """Runs until the first words of the answer, then asks the program to end."""
        before, began = self.requests(), time.monotonic()
        child = subprocess.Popen(self.arguments(*more), cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        events = []
        for line in child.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == "text" and began is not None:
                child.send_signal(signal.SIGTERM)
                began = None
        return Ran(events, child.wait(timeout=60), self.requests()[len(before):], child.stderr.read())

    def requests(self):
        return sorted(self.log.iterdir())

    def check(self, what, holds, ran=None):
        print(f"{'ok    ' if holds else 'FAILED'} {self.agent}: {what}", flush=True)
        if holds:
            self.passed += 1
            return
        self.failed += 1
        for event in ran.events if ran else []:
            print("   ", json.dumps(event)[:400])
        if ran:
            print("    exit", ran.code, ran.stderr[-600:])

    def left(self):
        """Processes that still work in the project."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(folder / "cwd") == str(self.work):
                    found.append((folder.name, (folder / "cmdline").read_bytes()[:80]))
            except OSError:
                pass
        return found

    def close(self):
        time.sleep(0.5)
        left = self.left()
        self.check(f"nothing is left behind {left or ''}".strip(), not left)
        self.model.terminate()
        self.model.wait()
        if not self.failed:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.failed


class Ran:
    def __init__(self, events, code, requests, stderr):
        self.events, self.code, self.requests, self.stderr = events, code, requests, stderr
        self.end = events[-1] if events else {}

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def text(self):
        return "".join(event["text"] for event in self.of("text"))

    def failure(self):
        """The kind of the error that it ended with."""
        return (self.end.get("error") or {}).get("kind")

    def session(self):
        started = self.of("started")
        return started[-1]["session"] if started else None
