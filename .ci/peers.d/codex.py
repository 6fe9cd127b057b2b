#!/usr/bin/env python3
"""Codex, the real program, driven against the scripted model."""
import sys

from agents import Bench, programs

CONFIG = """model = "gpt-5.1-codex"
model_provider = "local"

[model_providers.{name}]
name = "{name}"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
request_max_retries = 0
stream_max_retries = 0
"""


def main():
    bench = Bench("codex", programs("@openai/codex", "codex"))
    config = bench.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIG.format(url=bench.url, name="local"))
    bench.extra = {"LOCAL_KEY": "x"}

    ran = bench.run("hello there")
    bench.check("a prompt is answered", ran.code == 0 and ran.text() == "hello from the model", ran)
    bench.check("the answer is told once and its usage counted once",
                ran.end.get("text") == "hello from the model" and ran.end["usage"]["output"] == 9, ran)

    ran = bench.run("--session", "tools", "--permission-mode", "bypass", "run: echo hi > made; cat made")
    results = ran.of("tool_result")
    bench.check("a tool is called, and its result told",
                ran.code == 0 and len(ran.of("tool_call")) == 1 and results and results[0]["text"] == "hi\n", ran)
    first = ran.session()

    ran = bench.run("--one-shot", "--permission-mode", "bypass", "run: echo hi > made; cat made")
    results = ran.of("tool_result")
    bench.check("a one-shot run calls a tool and ends by itself",
                ran.code == 0 and len(ran.of("tool_call")) == 1 and results and results[0]["text"] == "hi\n", ran)
    once = ran.session()
    ran = bench.run("--one-shot", "--resume", once, "hello again")
    bench.check("a one-shot run goes on with a session",
                ran.code == 0 and ran.text() == "hello from the model" and ran.session() == once, ran)
    ran = bench.run("--one-shot", "--command", "/compact")
    bench.check("a command is refused in a one-shot run", ran.code == 2 and not ran.requests, ran)

    ran = bench.run("--session", "tools", "--command", "/compact")
    states = [event["state"] for event in ran.of("compaction")]
    bench.check("a resumed session is compacted: started, finished", ran.code == 0 and states == ["started", "finished"], ran)
    last = (ran.of("compaction") or [{}])[-1]
    bench.check("and its sizes are told", last.get("ok") and last["before"] and last["after"] and
                last["after"] < last["before"], ran)
    bench.check("it is the same session", ran.session() == first, ran)
    bench.check("the model was asked for a summary once", len(ran.requests) == 1, ran)

    ran = bench.run("--session", "tools", "What does /compact do? say nothing")
    bench.check("prose about /compact stays prose: one request, no compaction",
                ran.code == 0 and not ran.of("compaction") and len(ran.requests) == 1 and ran.session() == first, ran)
    bench.check("what a compacted session was told is in its next request",
                "They were done." in ran.requests[0].read_text(), ran)

    ran = bench.run("--session", "tools", "--command", "/compcat")
    bench.check("an unknown command is refused before it is sent",
                ran.code == 2 and not ran.requests and "compact" in str(ran.end), ran)
    ran = bench.run("--session", "tools", "--command", "/compact keep the API")
    bench.check("instructions for a compaction are refused, with what would work",
                ran.code == 2 and not ran.requests and "/compact` alone" in str(ran.end), ran)

    ran = bench.run("--session", "tools", "--command", "/context")
    bench.check("the context is told without a request", ran.code == 0 and not ran.requests, ran)

    ran = bench.run("--session", "tools", "--command", "/clear")
    bench.check("a cleared session has a new id", ran.code == 0 and ran.session() not in (None, first), ran)
    cleared = ran.session()
    ran = bench.run("--session", "tools", "hello again")
    bench.check("and the name stands for it", ran.code == 0 and ran.session() == cleared, ran)
    ran = bench.run("--resume", first, "hello once more")
    bench.check("the old one can still be resumed", ran.code == 0 and ran.session() == first, ran)

    ran = bench.run("--command", "/compact")
    bench.check("an empty session is compacted or refused, and not failed",
                ran.code == 0 and ran.of("compaction")[-1]["state"] == "finished", ran)

    ran = bench.run("hello there", "--command", "/compact")
    bench.check("a command after a prompt does not take its answer",
                ran.code == 0 and ran.end.get("text") == "hello from the model" and ran.end["turns"] == 2, ran)

    ran = bench.cancel("slowly, please")
    bench.check("a turn is cancelled in its middle", ran.code == 130 and ran.end.get("stop") == "cancelled", ran)

    ran = bench.run("--approve", "allow", "run: echo hi")
    bench.check("a command is run with approvals asked for", ran.code == 0 and ran.of("tool_result"), ran)

    ran = bench.run("limited, I fear")
    bench.check("a limit is told from other failures", ran.code == 1 and ran.failure() == "rate_limited", ran)
    ran = bench.run("--resume", "01a22b26-be6e-7630-851f-000000000000", "hello")
    bench.check("an unknown thread is told", ran.failure() == "no_session", ran)
    bench.extra = {}
    ran = bench.run("hello")
    bench.check("a missing key is told", ran.failure() == "not_logged_in", ran)
    bench.extra = {"LOCAL_KEY": "x"}
    config.write_text(CONFIG.format(url=bench.url, name="other").replace('"local"', '"other"'))
    ran = bench.run("--resume", first, "hello")
    bench.check("a thread of another provider is told", ran.failure() == "session_conflict", ran)
    config.write_text("")
    ran = bench.run("hello")
    bench.check("who is not logged in is told before anything is sent", ran.failure() == "not_logged_in", ran)
    return bench.close()


sys.exit(1 if main() else 0)
