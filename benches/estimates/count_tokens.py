"""Counts each token of `o200k_base` by itself: `count_tokens.py O200K.tiktoken GEMINI-TOKENIZER.json OUT.jsonl`.

OUT has a line {"claude3", "claude47", "gemini"} for each token, in order; zeros where its bytes are no text by themselves. It is
where the fit starts from for tokens that the samples seldom show.
"""

import json
import multiprocessing
import sys

import ctok
import tiktoken.load
from tokenizers import Tokenizer

# In front of a token that goes on with the line: what stands at the start of a message is read differently.
BEFORE = ".\n"


def claude(text):
    count = {}
    for field, version in (("claude3", "3.0"), ("claude47", "4.7")):
        count[field] = ctok.token_count(BEFORE + text, version) - ctok.token_count(BEFORE + "a", version) + 1
    return count


def main():
    ranks, gemini, out = sys.argv[1:]
    ranks = tiktoken.load.load_tiktoken_bpe(ranks)
    texts = [None] * (max(ranks.values()) + 1)
    for token, rank in ranks.items():
        try:
            texts[rank] = token.decode()
        except UnicodeDecodeError:
            pass
    tokenizer = Tokenizer.from_file(gemini)
    known = [(rank, text) for rank, text in enumerate(texts) if text]
    counts = [{"claude3": 0, "claude47": 0, "gemini": 0} for _ in texts]
    with multiprocessing.Pool(2) as pool:
        for (rank, _), count in zip(known, pool.imap(claude, [text for _, text in known], 512)):
            counts[rank].update(count)
    for (rank, _), encoded in zip(known, tokenizer.encode_batch([text for _, text in known], add_special_tokens=False)):
        counts[rank]["gemini"] = len(encoded.ids)
    with open(out, "w") as file:
        file.writelines(json.dumps(count) + "\n" for count in counts)


if __name__ == "__main__":
    main()
