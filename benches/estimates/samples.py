"""Collects texts to fit and to judge the estimators with: `samples.py OUT.jsonl [FOLDER=KIND]... [--real DATA]`.

Each line of OUT is {"kind", "source", "side", "text"}. Texts are pieces of 2 to 6.5 KB of files. A whole source (a file) is
on one of three sides: weights are fitted to `fit`, margins and what is chosen between are set by `margin`, and `test` is what
is judged, which nothing was chosen by. `--real` names a folder of recorded sessions, requests and tool output: raw as they
are, and the strings in them as a model reads them.
"""

import base64
import hashlib
import json
import pathlib
import random
import re
import sys
import uuid

SMALLEST, LARGEST = 2_000, 6_500


def side(source):
    at = hashlib.sha256(source.encode()).digest()[0]
    return "test" if at < 56 else "margin" if at < 112 else "fit"


def pieces(text, rng, most):
    """Cuts a text into up to `most` pieces that lie apart."""
    cuts, at = [], 0
    # Sizes are bytes, cuts are characters.
    wide = max(1.0, len(text[:20_000].encode("utf-8", "replace")) / max(1, len(text[:20_000])))
    while at < len(text):
        size = int(rng.randint(SMALLEST, LARGEST) / wide**0.7)
        cuts.append(text[at : at + size])
        at += size
    if len(cuts) > 1 and len(cuts[-1]) < SMALLEST / wide:
        cuts.pop()
    cuts = [cut for cut in cuts if len(cut.encode("utf-8", "replace")) >= 400]
    return cuts if len(cuts) <= most else rng.sample(cuts, most)


def read(path):
    return path.read_bytes()[:4_000_000].decode("utf-8", "replace")


def strings(value):
    """The strings of a JSON value that are long enough to be what somebody wrote or a tool said."""
    if isinstance(value, str):
        if len(value) >= 600:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def kind_of(text):
    """What a string in a session is, by its looks."""
    start = text[:4_000]
    if re.fullmatch(r"[A-Za-z0-9+/=_\s-]{600,}", start) and start.count(" ") < 5:
        return "base64"
    if start.lstrip()[:1] in "{[" and '":' in start:
        return "json"
    if re.search(r"^(diff --git|@@ -|\+\+\+ )", start, re.M):
        return "diff"
    wide = sum(1 for c in start if ord(c) > 0x2E80) / max(1, len(start))
    if wide > 0.2:
        return "prose-cjk"
    if len(re.findall(r"\d\d:\d\d:\d\d|\b(INFO|WARN|ERROR|DEBUG)\b|^\s*at ", start, re.M)) >= 5:
        return "log"
    if len(re.findall(r"[;{}()=<>]", start)) > len(start) / 40:
        return "code"
    return "text"


def real(folder):
    rng = random.Random(7)
    for path in sorted(folder.rglob("*")):
        relative = str(path.relative_to(folder))
        top = relative.split("/")[0]
        if not path.is_file() or top in ("sealed", "LICENSES") or "/" not in relative:
            continue
        text = read(path)
        kind = top if top in ("tool_output", "skills", "commands") else "raw-json"
        if kind == "tool_output":
            kind = f"tool-{kind_of(text)}"
        for cut in pieces(text, rng, 14):
            yield f"real-{kind}", relative, cut
        found = []
        for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
            try:
                found.extend(strings(json.loads(line)))
            except (ValueError, RecursionError):
                continue
        found = list(dict.fromkeys(found))
        for whole in found if len(found) <= 24 else rng.sample(found, 24):
            for cut in pieces(whole, rng, 3):
                yield f"real-{kind_of(cut)}", relative, cut


def plain(path, text):
    if path.suffix in (".page", ".xml", ".html"):
        text = re.sub(r"(?s)<(info|style|script).*?</\1>|<!--.*?-->|<[^>]*>", "", text)
        text = re.sub(r"&lt;", "<", re.sub(r"&gt;", ">", re.sub(r"&amp;", "&", text)))
        text = re.sub(r"[ \t]+", " ", re.sub(r"\n\s*\n\s*", "\n\n", text))
    if path.suffix == ".po":
        quoted = re.findall(r'^msgstr "(.*)"$((?:\n".*"$)*)', text, re.M)
        joined = [first + "".join(re.findall(r'^"(.*)"$', more, re.M)) for first, more in quoted[1:]]
        text = "\n".join(line.replace("\\n", "\n").replace('\\"', '"') for line in joined if line)
    return text.strip()


def folder(path, kind):
    rng = random.Random(str(path))
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    rng.shuffle(files)
    joined, taken, cap = {}, 0, 280 if kind.startswith("code") else 90
    for file in files:
        text = plain(file, read(file))
        if kind.startswith("prose"):
            # Short pages are joined, so that a text is long enough to be judged; sides are kept apart.
            of = side(f"{kind}/{file.relative_to(path)}")
            joined[of] = joined.get(of, "") + "\n\n" + text
            if sum(map(len, joined.values())) > 600_000:
                break
        elif 400 <= len(text):
            for cut in pieces(text, rng, 3):
                yield kind, f"{kind}/{file.relative_to(path)}", cut
                taken += 1
            if taken >= cap:
                break
    few = kind.endswith("-ui")
    for of, text in joined.items():
        for cut in pieces(text, rng, (10 if few else 30) if of == "fit" else (5 if few else 14)):
            yield kind, f"={of}", cut


def made():
    """Texts without a source: what travels through sessions and is nobody's prose."""
    rng = random.Random(11)
    words = ("worker stage-2 request served cache miss retry upstream timeout GET POST /api/v1/items user session token "
             "INFO WARN ERROR DEBUG started stopped connected rows bytes ms status").split()

    def log():
        stamp = f"2026-{rng.randint(1,12):02}-{rng.randint(1,28):02}T{rng.randint(0,23):02}:{rng.randint(0,59):02}:{rng.randint(0,59):02}.{rng.randint(0,999):03}Z"
        return f"{stamp} {rng.choice(['INFO','WARN','ERROR','DEBUG'])} {' '.join(rng.choices(words, k=rng.randint(3, 12)))} id={rng.randint(1, 10**6)} {rng.randint(0, 9999)}ms"

    def record():
        return json.dumps({"id": str(uuid.UUID(int=rng.getrandbits(128))), "n": rng.randint(0, 10**9), "ok": rng.random() < 0.5,
                           "score": round(rng.random(), rng.randint(2, 12)), "tags": rng.choices(words, k=3)},
                          separators=rng.choice([(",", ":"), (", ", ": ")]))

    emoji = "😀😃🚀🔥✅❌⚠️📦🔧📝👍🏽👨‍👩‍👧🇩🇪🎉🧪💡"
    makers = {
        "made-base64": lambda: base64.b64encode(rng.randbytes(rng.randint(1_200, 6_000))).decode(),
        "made-base64-lines": lambda: "\n".join(base64.b64encode(rng.randbytes(57)).decode() for _ in range(rng.randint(20, 90))),
        "made-hex": lambda: rng.randbytes(rng.randint(600, 2_500)).hex(),
        "made-hexdump": lambda: "\n".join(f"{at * 16:08x}: " + " ".join(rng.randbytes(2).hex() for _ in range(8)) for at in range(rng.randint(20, 90))),
        "made-uuids": lambda: "\n".join(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(rng.randint(30, 120))),
        "made-numbers": lambda: "\n".join(",".join(str(round(rng.uniform(-1e4, 1e4), rng.randint(0, 6))) for _ in range(8)) for _ in range(rng.randint(25, 90))),
        "made-log": lambda: "\n".join(log() for _ in range(rng.randint(20, 90))),
        "made-json": lambda: "\n".join(record() for _ in range(rng.randint(12, 60))),
        "made-json-indented": lambda: json.dumps([json.loads(record()) for _ in range(rng.randint(8, 40))], indent=rng.choice([2, 4])),
        "made-emoji": lambda: " ".join("".join(rng.choices(emoji, k=rng.randint(1, 3))) + " " + rng.choice(words) for _ in range(rng.randint(150, 500))),
        "made-table": lambda: "\n".join("| " + " | ".join(rng.choice(words).ljust(18) for _ in range(4)) + " |" for _ in range(rng.randint(20, 80))),
        "made-paths": lambda: "\n".join("/".join(["", "home", "u"] + rng.choices(words, k=rng.randint(2, 6))) + rng.choice([".rs", ".py", ".json", ".tsx"]) + f":{rng.randint(1, 900)}" for _ in range(rng.randint(40, 120))),
    }
    for kind, make in makers.items():
        for at in range(60):
            yield kind, f"{kind}/{at}", make()


def main():
    out, *rest = sys.argv[1:]
    found = list(made())
    while rest:
        word = rest.pop(0)
        if word == "--real":
            found.extend(real(pathlib.Path(rest.pop(0))))
        else:
            path, kind = word.rsplit("=", 1)
            found.extend(folder(pathlib.Path(path), kind))
    # In no order, so that a count that was cut short is still of everything.
    random.Random(3).shuffle(found)
    kinds = {}
    with open(out, "w", encoding="utf-8") as file:
        for kind, source, text in found:
            text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
            of = source[1:] if source.startswith("=") else side(source)
            kinds[kind] = kinds.get(kind, 0) + 1
            file.write(json.dumps({"kind": kind, "source": source, "side": of, "text": text}, ensure_ascii=False) + "\n")
    for kind, count in sorted(kinds.items()):
        print(f"{count:6} {kind}")


main()
