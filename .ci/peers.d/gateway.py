#!/usr/bin/env python3
"""Agent programs and SDKs, the real ones, past the window of the scripted model: directly, and through the gateway."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

# The window of the scripted model, in quarters of a request's bytes.
LIMIT = 36_000
os.environ["MODEL_LIMIT"] = str(LIMIT)

from agents import PLIMSOLL, Bench, programs  # noqa: E402

TURNS = 9
# On a line of its own: OpenCode puts what it is told into quotes.
WORK = "please\nrun: seq 1 2500\nthank you"


class Ran:
    """What `Bench.check` shows of a failure."""

    events = ()

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def stderr(self):
        return self.out[-300:] + self.err[-300:]


def call(bench, *command, env=None, stdin=subprocess.DEVNULL):
    done = subprocess.run([str(part) for part in command], cwd=bench.work, env={**bench.env, **(env or {})}, stdin=stdin,
                          capture_output=True, text=True, timeout=300)
    return Ran(done.returncode, done.stdout, done.stderr)


def wrapped(bench, *command):
    return [PLIMSOLL, "--store", (bench.folder / "store").as_uri(), "wrap", "--window", str(LIMIT),
            "--request-log", bench.folder / "requests.log", *command]


def logged(bench):
    path = bench.folder / "requests.log"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def judge(bench, name, direct, through, turns=TURNS):
    """A session of many turns dies without the gateway, and goes on with it."""
    bench.check(f"{name}: directly it ends before its last turn (turn {len(direct)} of {turns})",
                len(direct) < turns or direct[-1].code != 0, direct[-1])
    bench.check(f"{name}: through the gateway it goes on to the end",
                len(through) == turns and all(ran.code == 0 for ran in through), through[-1])
    lines = logged(bench)
    kept = [line for line in lines if line.get("prefix")]
    bench.check(f"{name}: results were capped or the past compacted, and no prefix broke",
                any(line["tokens_after"] < line["tokens_before"] for line in kept)
                and not any(line["prefix"] == "broken" for line in kept), Ran(0, json.dumps(kept, indent=1), ""))


def claude():
    bench = Bench("claude", programs("@anthropic-ai/claude-code", "claude"))
    bench.env |= {"ANTHROPIC_API_KEY": "dummy", "IS_SANDBOX": "1", "ANTHROPIC_BASE_URL": bench.url,
                  "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTO_COMPACT": "1"}

    def session(prefix):
        ran, session = [], None
        for _ in range(TURNS):
            resume = ["--resume", session] if session else []
            ran.append(call(bench, *prefix, bench.program, "-p", "--output-format", "json",
                            "--dangerously-skip-permissions", *resume, WORK))
            with contextlib.suppress(ValueError):
                said = json.loads(ran[-1].out)
                session = said.get("session_id")
                if said.get("is_error"):
                    ran[-1].code = ran[-1].code or 1
            if ran[-1].code:
                break
        return ran

    judge(bench, "Claude Code", session([]), session(wrapped(bench)))
    left = [path for path in bench.home.rglob("*") if path.is_file() and path.suffix != ".jsonl" and b"plimsoll" in path.read_bytes()]
    bench.check("Claude Code: wrap leaves nothing in its settings", not left, Ran(0, str(left), ""))
    return bench.close()


def codex():
    bench = Bench("codex", programs("@openai/codex", "codex"))
    bench.env |= {"CODEX_API_KEY": "dummy", "OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{bench.url}/v1"}
    common = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", "model=\"gpt-5.1-codex\"",
              "-c", "model_auto_compact_token_limit=100000000"]

    def session(prefix, base):
        ran = []
        for turn in range(TURNS):
            resume = ["resume", "--last"] if turn else []
            ran.append(call(bench, *prefix, bench.program, *base, "exec", *resume, *common, WORK))
            if ran[-1].code:
                break
        return ran

    direct = session([], ["-c", f"openai_base_url=\"{bench.url}/v1\""])
    judge(bench, "Codex", direct, session(wrapped(bench), []))
    return bench.close()


def opencode():
    bench = Bench("opencode", programs("opencode-ai", "opencode"))
    # What it asks for is shorter than what the others do.
    turns = 13
    model = {"name": "m1", "limit": {"context": 10_000_000, "output": 4000}}

    def session(prefix, url):
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Local", "models": {"m1": model},
                    "options": {"baseURL": f"{url}/v1", "apiKey": "x"}}
        (bench.work / "opencode.json").write_text(json.dumps({
            "model": "local/m1", "small_model": "local/m1", "autoupdate": False, "share": "disabled",
            "permission": "allow", "provider": {"local": provider}}))
        ran = []
        for turn in range(turns):
            go_on = ["--continue"] if turn else []
            ran.append(call(bench, *prefix, bench.program, "run", "--print-logs", *go_on, WORK))
            if "context length" in ran[-1].out + ran[-1].err:
                ran[-1].code = ran[-1].code or 1
            if ran[-1].code:
                break
        return ran

    direct = session([], bench.url)
    with serve(bench, f"openai={bench.url}") as url:
        judge(bench, "OpenCode", direct, session([], url), turns)
    return bench.close()


@contextlib.contextmanager
def serve(bench, upstream):
    """A gateway, for as long as it is needed."""
    command = [PLIMSOLL, "--store", (bench.folder / "store").as_uri(), "serve", "--listen", "127.0.0.1:0", "--window",
               str(LIMIT), "--upstream", upstream, "--request-log", bench.folder / "requests.log"]
    process = subprocess.Popen([str(part) for part in command], env=bench.env, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


SDK_TURNS = 20
# Which program, what it asks with, and which upstream that is.
SDKS = [
    ("the SDK of Anthropic", "anthropic", None),
    ("the SDK of OpenAI, Chat Completions", "openai", "chat"),
    ("the SDK of OpenAI, Responses", "openai", "responses"),
]


def died(out):
    """The turn at which a session ended."""
    turns = [line.split()[1] for line in out.splitlines() if line.startswith("turn ")]
    return turns[-1] if turns else "0"


def sdks():
    failed = 0
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    modules = pathlib.Path(programs("@anthropic-ai/sdk", "x")).parent.parent
    for language, program, ending in (("TypeScript", "node", "mjs"), ("Python", python, "py")):
        for name, maker, api in SDKS:
            bench = Bench("sdk", program)
            (bench.work / "node_modules").symlink_to(modules)
            script = bench.work / f"session.{ending}"
            shutil.copy(pathlib.Path(__file__).with_name(f"gateway.{maker}.{ending}"), script)
            env = {"TURNS": str(SDK_TURNS), "API": api or ""}
            direct = call(bench, program, script, env={**env, "URL": bench.url})
            bench.check(f"{name} for {language}: directly it dies (turn {died(direct.out)} of {SDK_TURNS})",
                        direct.code != 0 and int(died(direct.out)) > 1, direct)
            asked = len(bench.requests())
            with serve(bench, f"{maker}={bench.url}") as url:
                through = call(bench, program, script, env={**env, "URL": url})
            bench.check(f"{name} for {language}: through the gateway it goes on, with {SDK_TURNS} calls of its tool",
                        through.code == 0 and f"done after {SDK_TURNS} calls" in through.out, through)
            kept = [line for line in logged(bench) if line.get("prefix")]
            epochs = {line["epoch"] for line in kept if line.get("epoch")}
            bench.check(f"{name} for {language}: each request was sent once, under {len(epochs)} epochs, and no prefix broke",
                        epochs and len(bench.requests()) - asked == len(kept) == 2 * SDK_TURNS
                        and not any(line["prefix"] == "broken" for line in kept), Ran(0, json.dumps(kept, indent=1), ""))
            failed += bench.close()
    return failed


def wraps():
    """What `wrap` promises of any program."""
    bench = Bench("wrap", "sh")
    ran = call(bench, *wrapped(bench, "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL; exit 7"))
    bench.check("wrap: the exit code is the program's", ran.code == 7 and "http://127.0.0.1:" in ran.out, ran)
    ran = call(bench, *wrapped(bench, "--", "sh", "-c", "kill -9 $$"))
    bench.check("wrap: a program that a signal ends", ran.code == 137, ran)
    ran = call(bench, *wrapped(bench, "--", "no-such-program"))
    bench.check("wrap: a program that is not there is named", ran.code == 1 and "no-such-program" in ran.err, ran)
    command = wrapped(bench, "--", "sh", "-c", "trap 'exit 9' TERM; echo ready $OPENAI_BASE_URL; while :; do sleep 0.1; done")
    process = subprocess.Popen([str(part) for part in command], env=bench.env, stdout=subprocess.PIPE, text=True)
    url = process.stdout.readline().split()[1]
    alive = urllib.request.urlopen(url.replace("/v1", "/health"), timeout=5).read() == b"ok\n"
    process.send_signal(signal.SIGTERM)
    code = process.wait(10)
    time.sleep(0.2)
    gone = False
    try:
        urllib.request.urlopen(url.replace("/v1", "/health"), timeout=5)
    except OSError:
        gone = True
    bench.check("wrap: signals are passed on, and the gateway ends with the program", alive and code == 9 and gone,
                Ran(code, url, ""))
    return bench.close()


def main():
    named = sys.argv[1:] or ["wraps", "sdks", "claude", "codex", "opencode"]
    failed = sum(globals()[name]() for name in named)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
