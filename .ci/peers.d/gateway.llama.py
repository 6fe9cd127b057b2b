#!/usr/bin/env python3
"""A real model server, llama.cpp's, behind the gateway: the official SDKs go on where they die without it.

    gateway.llama.py PLIMSOLL LLAMA-SERVER MODEL WORK

PEERS_MODULES is the folder with the npm packages, PEERS_PYTHON a Python with the SDKs.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.request

from checking import Checks, free_port, wait_for

plimsoll, server, model, work = sys.argv[1:5]
work = pathlib.Path(work)
here = pathlib.Path(__file__).resolve().parent
WINDOW, TURNS = 4096, 9
check = Checks("gateway.llama")


def start_model():
    port = free_port()
    log = open(work / "llama.log", "wb")
    process = subprocess.Popen([server, "-m", model, "-a", "smollm2", "-c", str(WINDOW), "--parallel", "1", "--jinja", "--host",
                                "127.0.0.1", "--port", str(port), "--no-webui"], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    check("the server is there", wait_for(url + "/health", process), (work / "llama.log").read_bytes()[-800:])
    return process, url


def start_gateway(name, upstream, *options):
    log = work / f"{name}.log"
    command = [plimsoll, "--store", (work / f"store-{name}").as_uri(), "serve", "--listen", "127.0.0.1:0", "--upstream",
               f"any={upstream}", "--request-log", log, *options]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1], log


def session(language, maker, api, url):
    """Runs a session of an SDK: (exit code, output)."""
    ending, program = {"TypeScript": ("mjs", "node"), "Python": ("py", os.environ["PEERS_PYTHON"])}[language]
    folder = work / f"{maker}-{api}-{ending}"
    folder.mkdir(exist_ok=True)
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(os.environ["PEERS_MODULES"])
    script = folder / f"session.{ending}"
    shutil.copy(here / f"gateway.{maker}.{ending}", script)
    # The calls of its tool are the script's: no model this small makes them.
    env = {**os.environ, "URL": url, "TURNS": str(TURNS), "API": api, "MADE_UP": "1"}
    done = subprocess.run([program, str(script)], cwd=folder, env=env, capture_output=True, text=True, timeout=1500)
    return done.returncode, done.stdout + done.stderr


def turns(out):
    return sum(line.startswith("turn ") for line in out.splitlines())


def checks(url):
    sessions = [("Python", "openai", "chat"), ("Python", "openai", "responses"), ("Python", "anthropic", ""),
                ("TypeScript", "openai", "chat"), ("TypeScript", "openai", "responses"), ("TypeScript", "anthropic", "")]
    for language, maker, api in sessions[:int(os.environ.get("PEERS_SESSIONS", len(sessions)))]:
        name = f"the SDK of {maker} for {language}" + (f", {api}" if api else "")
        code, out = session(language, maker, api, url)
        check(f"{name}: directly it dies (turn {turns(out)} of {TURNS})", code != 0 and "exceed" in out and turns(out) > 1, out)
        # Once as it is told the window, and once as it learns it from the server's refusal.
        ways = [("is told", ["--window", str(WINDOW), "--max-output", "64"]), ("learns", [])]
        # How it is learned has nothing to do with the language.
        for way, options in ways if language == "Python" else ways[:1]:
            process, through, log = start_gateway(f"{maker}-{api}-{language}-{way[:2]}", url, *options)
            try:
                code, out = session(language, maker, api, through)
                recovered = urllib.request.urlopen(through + "/metrics").read().decode()
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(20)
            check(f"{name}: through a gateway that {way} the window it goes on", code == 0 and f"done after {TURNS} calls" in out, out)
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            kept = [line for line in lines if line.get("prefix")]
            epochs = {line["epoch"] for line in kept if line.get("epoch")}
            recoveries = next(line.split()[-1] for line in recovered.splitlines()
                              if line.startswith("plimsoll_overflows_recovered_total "))
            check(f"{name}: {len(epochs)} epochs, {recoveries} recoveries, and no prefix broke",
                  epochs and not any(line["prefix"] == "broken" for line in kept), json.dumps(kept[-3:]))


process, url = start_model()
try:
    checks(url)
finally:
    process.terminate()
    process.wait(timeout=30)
sys.exit(1 if check.failed else 0)
