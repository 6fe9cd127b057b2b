"""A conversation that a real small model cannot go on with, and goes on with through Plimsoll.

`llama.py PLIMSOLL SERVER MODEL FOLDER`: each line that it prints is a check, `ok` or `FAILED`.
"""
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

from checking import Checks, free_port, wait_for

plimsoll, server, model, folder = sys.argv[1:5]
# A smaller window makes a quicker, smaller check of the same: a machine at other work reads a few tokens a second.
WINDOW = int(os.environ.get("PEERS_WINDOW", "8192"))
NAME = "smollm2"
RULE = "Never delete anything below /srv/archive."
check = Checks("llama")
port = free_port()
base = f"http://127.0.0.1:{port}"
log = open(os.path.join(folder, "server.log"), "wb")
process = subprocess.Popen(
    [server, "-m", model, "-a", NAME, "-c", str(WINDOW), "--parallel", "1", "--host", "127.0.0.1", "--port", str(port),
     "--no-webui"], stdout=log, stderr=log)


def call(path, body=None):
    """The status and the answer of a request; a refusal is an answer, too."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"{}")


def turn(number):
    """What the user says: a question, and a listing as a tool would give it."""
    lines = "\n".join(f"/srv/data/part-{number}/file-{line:03}.csv  {line * 37 + number} bytes  checked" for line in range(28))
    return {"role": "user", "content": f"Listing {number}:\n{lines}\nHow many files are in part {number}?"}


def talk(body, turns):
    """Goes on with a conversation until it is refused: (how many turns went well, the refusal)."""
    for done in range(turns):
        body["messages"].append(turn(len(body["messages"])))
        status, answer = call("/v1/chat/completions", body)
        if status != 200:
            return done, (status, answer)
        words = answer["choices"][0]["message"]["content"] or "…"
        body["messages"].append({"role": "assistant", "content": words})
    return turns, None


def compact(name, *options):
    """Runs `plimsoll compact` on a body: (exit code, report, standard error)."""
    command = [plimsoll, "compact", name, "--summarizer", f"openai:{NAME}", "--summarizer-url", base, "--window",
               str(WINDOW), "--json", "-o", f"{name}.out", *options]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1500)
    return ran.returncode, json.loads(ran.stdout or "{}"), ran.stderr


def told(report):
    fields = ("outcome", "reason", "summarizer", "fallback", "calls", "usage", "request", "tokens_before", "tokens_after")
    return {field: report.get(field) for field in fields}


def save(name, body):
    with open(os.path.join(folder, name), "w") as file:
        json.dump(body, file)


def goes_on(name, report):
    """Goes on with what a compaction made of a conversation."""
    with open(os.path.join(folder, f"{name}.out")) as file:
        body = json.load(file)
    size = len(body["messages"])
    done, refusal = talk(body, 2)
    check(f"{name}: the conversation goes on for two turns more", done == 2, refusal)
    check(f"{name}: what the user ruled is still in it", RULE in json.dumps(body["messages"][:size]), body["messages"][0])
    restored = subprocess.run([plimsoll, "restore", report.get("epoch") or ""], cwd=folder, capture_output=True)
    with open(os.path.join(folder, name), "rb") as file:
        check(f"{name}: the whole of it is restored byte for byte", restored.stdout == file.read(), restored.stderr)


def checks():
    check("the server is there", wait_for(base + "/health", process), open(log.name, "rb").read()[-800:])
    system = {"role": "system", "content": "You help with files. Answer in one short sentence."}
    first = {"role": "user", "content": f"{RULE} I will show you listings; count the files."}
    body = {"model": NAME, "max_tokens": 24, "temperature": 0, "messages": [system, first]}
    done, refusal = talk(body, 1)
    check("it answers", done == 1, refusal)
    # The rest of the history, as if it had answered so every time: that saves minutes, and the window fills all the same.
    while sum(len(message["content"]) for message in body["messages"]) < WINDOW * 1.35:
        body["messages"] += [turn(len(body["messages"])), {"role": "assistant", "content": "There are 28 files."}]
    done, refusal = talk(body, 40)
    status, answer = refusal or (None, None)
    error = (answer or {}).get("error", {})
    check("a plain client dies at the window", status == 400 and error.get("type") == "exceed_context_size_error", refusal)
    print(f"       | after {done} turns: {error.get('message', '')}", flush=True)

    # The last question stays unanswered; it is what the conversation goes on with.
    save("known.json", body)
    code, report, err = compact("known.json", "--summarizer-window", str(WINDOW))
    check("known.json: it is compacted", code == 0 and report.get("outcome") == "applied", (report, err))
    asked = report.get("calls", 0) >= 1 and (report.get("usage") or {}).get("output", 0) > 0
    check("known.json: the model was asked, within its window, and answered", asked, told(report))
    fallback = report.get("fallback")
    by_model = report.get("summarizer") == f"openai:{NAME}" and fallback is None
    extracted = report.get("summarizer") == "extract" and bool((fallback or {}).get("reason"))
    check("known.json: the report says who wrote the summary, and why", by_model or extracted, told(report))
    print(f"       | {json.dumps(told(report))}", flush=True)
    goes_on("known.json", report)

    # Without being told the window, it is learned from the server's own refusal.
    body["messages"][1]["content"] += " Be quick."
    save("learned.json", body)
    code, report, err = compact("learned.json", "--keep-tokens", "200")
    check("learned.json: it is compacted", code == 0 and report.get("outcome") == "applied", (report, err))
    check("learned.json: who wrote the summary is told", report.get("summarizer") is not None, told(report))
    print(f"       | {json.dumps(told(report))}", flush=True)
    goes_on("learned.json", report)


try:
    checks()
finally:
    process.terminate()
    process.wait(timeout=30)
sys.exit(1 if check.failed else 0)
