#!/usr/bin/env python3
"""Agents that speak the Agent Client Protocol, the real programs, driven against the scripted model."""
import json
import sys

from agents import Bench, programs


def opencode():
    bench = Bench("opencode", programs("opencode-ai", "opencode"))
    model = {"name": "m1", "limit": {"context": 100000, "output": 4000}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Local", "models": {"m1": model},
                "options": {"baseURL": f"{bench.url}/v1", "apiKey": "x"}}
    (bench.work / "opencode.json").write_text(json.dumps({
        "model": "local/m1", "small_model": "local/m1", "autoupdate": False, "share": "disabled",
        "permission": {"bash": "ask"}, "provider": {"local": provider}}))
    ran = bench.run("--session", "s", "hello there")
    bench.check("a prompt is answered", ran.code == 0 and ran.text() == "hello from the model", ran)
    bench.check("the context's size is told", ran.end.get("context_used") and ran.end.get("context_window") == 100000, ran)
    first = ran.session()
    ran = bench.run("--session", "s", "--approve", "allow", "run: echo hi")
    call = (ran.of("tool_call") or [{}])[0]
    bench.check("a tool is approved, called with its whole input, and its result told",
                ran.code == 0 and ran.of("approval_request") and call.get("input", {}).get("command") == "echo hi"
                and [r["text"] for r in ran.of("tool_result")] == ["hi\n"], ran)
    bench.check("two runs are one session, and its past is not told again",
                ran.session() == first and ran.text() == "done", ran)
    ran = bench.run("--session", "s", "run: echo no")
    bench.check("without approval a tool is denied", ran.code == 0 and not ran.of("approval_request") and
                [r["is_error"] for r in ran.of("tool_result")] == [True], ran)
    ran = bench.run("--session", "s", "hello again", "--command", "/compact")
    steps = ran.of("compaction")
    bench.check("a session is compacted: started, finished, smaller",
                ran.code == 0 and [s["state"] for s in steps] == ["started", "finished"] and steps[-1]["ok"]
                and steps[-1]["after"] < steps[-1]["before"], ran)
    bench.check("which does not take the prompt's answer", ran.end.get("text") == "hello from the model", ran)
    ran = bench.run("--session", "s", "--command", "/compact")
    bench.check("a resumed session is compacted", ran.code == 0 and
                [s["state"] for s in ran.of("compaction")] == ["started", "finished"], ran)
    shared(bench)
    ran = bench.run("--resume", "ses_nothing", "hello")
    bench.check("an unknown session is told", ran.failure() == "no_session", ran)
    ran = bench.run("--model", "local/none", "hello")
    bench.check("an unknown model is refused, with those that are there", ran.code == 2 and not ran.requests, ran)
    ran = bench.run("--permission-mode", "plan", "hello there")
    bench.check("a mode is set", ran.code == 0, ran)
    return bench.close()


def gemini():
    bench = Bench("gemini", programs("@google/gemini-cli", "gemini"))
    bench.extra = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": bench.url}
    folder = bench.home / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": False},
        "telemetry": {"enabled": False}, "model": {"name": "gemini-2.5-flash"}}))
    ran = bench.run("--session", "s", "hello there")
    bench.check("a prompt is answered", ran.code == 0 and ran.text() == "hello from the model", ran)
    first = ran.session()
    ran = bench.run("--approve", "allow", "run: echo hi")
    bench.check("a tool is called", ran.code == 0 and ran.of("tool_call") and ran.of("tool_result") and
                ran.text() == "done", ran)
    ran = bench.run("--session", "s", "hello again")
    bench.check("two runs are one session, and its past is not told again",
                ran.code == 0 and ran.session() == first and ran.text() == "hello from the model", ran)
    ran = bench.run("--command", "/compact")
    bench.check("it does not advertise /compact, so that is refused and never becomes prose",
                ran.code == 2 and not ran.requests, ran)
    ran = bench.run("--command", "/memory show")
    bench.check("a command that it advertises is run without a model", ran.code == 0 and not ran.requests, ran)
    shared(bench)
    return bench.close()


def shared(bench):
    ran = bench.run("--command", "/memry")
    bench.check("an unknown command is refused before it is sent", ran.code == 2 and not ran.requests, ran)
    ran = bench.run("What does /compact do?")
    bench.check("prose about /compact stays prose", ran.code == 0 and not ran.of("compaction") and
                any("What does /compact do?" in request.read_text() for request in ran.requests), ran)
    ran = bench.cancel("slowly, please")
    bench.check("a turn is cancelled in its middle", ran.code == 130 and ran.end.get("stop") == "cancelled", ran)


wanted = sys.argv[1:] or ["opencode", "gemini"]
sys.exit(1 if sum(globals()[name]() for name in wanted) else 0)
