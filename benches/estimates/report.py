"""Prints how far estimates are off: `report.py SAMPLES.jsonl TRUTHS.jsonl FIELD O200K.tiktoken WEIGHTS MARGINS`.

MARGINS are thousandths for narrow, mixed and wide texts: `20,30,60`. Only texts of the side `test`, of over 500 tokens, are judged. Prints a table by group of kinds, in percent, and last all kinds
in which one text in twenty is off by more than 5 percent, or one in a hundred is low by more than 3.
"""

import collections
import json
import math
import sys

import numpy as np
import tiktoken
from tiktoken.load import load_tiktoken_bpe

from fit import PATTERN, UNIT, text_class


def group(kind):
    if kind.startswith("prose"):
        return "prose, interface texts" if kind.endswith("-ui") else "prose"
    if kind.startswith("made"):
        return {"made-base64": "base64, hex, ids", "made-base64-lines": "base64, hex, ids", "made-hex": "base64, hex, ids", "made-hexdump": "base64, hex, ids",
                "made-uuids": "base64, hex, ids", "made-log": "logs", "made-json": "JSON", "made-json-indented": "JSON"}.get(kind, "tables, paths, numbers, emoji")
    if "json" in kind:
        return "JSON"
    if kind.endswith("log"):
        return "logs"
    if "base64" in kind:
        return "base64, hex, ids"
    if kind.startswith("code") or kind.endswith(("code", "diff")):
        return "code"
    return "text of sessions, skills, tools"


def main():
    samples, truths, field, ranks, weights, margin = sys.argv[1:]
    encoding = tiktoken.Encoding("o200k", pat_str=PATTERN, mergeable_ranks=load_tiktoken_bpe(ranks), special_tokens={})
    margins = [int(margin) for margin in margin.split(",")]
    weights = np.fromfile(weights, dtype=np.uint8).astype(np.int64)
    groups, kinds = collections.defaultdict(list), collections.defaultdict(list)
    with open(samples, encoding="utf-8") as texts, open(truths) as counted:
        for line, count in zip(texts, counted):
            sample, count = json.loads(line), json.loads(count)[field]
            if sample["side"] == "test" and count > 500:
                total = int(weights[encoding.encode_ordinary(sample["text"])].sum())
                estimate = math.ceil(total * (1000 + margins[text_class(sample["text"])]) / (1000 * UNIT))
                off = 100 * (estimate / count - 1)
                for name in ("all", group(sample["kind"])):
                    groups[name].append(off)
                kinds[sample["kind"]].append(off)
    print("| texts held back | number | lowest | p1 | p50 | p95 | highest | p95 of the size |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    at = np.percentile
    for name, off in sorted(groups.items()):
        print(f"| {name} | {len(off)} | {min(off):+.1f} | {at(off, 1):+.1f} | {at(off, 50):+.1f} | {at(off, 95):+.1f} | {max(off):+.1f} | {at(np.abs(off), 95):.1f} |")
    missing = [f"{name} ({at(off, 1):+.1f} to {at(off, 95):+.1f}, {len(off)} texts)" for name, off in sorted(kinds.items()) if at(np.abs(off), 95) > 5 or at(off, 1) < -3]
    print("\nmiss the aim:", ", ".join(missing))


main()
