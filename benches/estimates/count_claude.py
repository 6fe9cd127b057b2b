"""Counts texts as Claude's tokenizers do: `count_claude.py SAMPLES.jsonl OUT.jsonl`, with the package `ctok` 1.3.

OUT has a line {"claude3", "claude47"} for each of SAMPLES, without the frame of a message. `ctok` serves 4.8 and later with
4.7's vocabulary and another frame.
"""

import json
import multiprocessing
import sys

import ctok

# What a message of one token costs beside it.
FRAMES = {version: ctok.token_count("a", version) - 1 for version in ("3.0", "4.7")}


def count(line):
    text = json.loads(line)["text"]
    def of(version):
        return ctok.token_count(text, version) - FRAMES[version]

    return json.dumps({"claude3": of("3.0"), "claude47": of("4.7")})


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as samples, multiprocessing.Pool(2) as pool, open(sys.argv[2], "w") as out:
        for counted in pool.imap(count, samples, 16):
            out.write(counted + "\n")
