"""Fits the estimators' weights: `fit.py SAMPLES.jsonl COUNTS.jsonl TOKENS.jsonl FIELD O200K.tiktoken OUT.weights`.

An estimator reads a text as the tokens of `o200k_base` and adds up a weight for each: how many tokens of another tokenizer it
stands for. A weight is a byte, in 24ths of a token (at most 10.6). The fit is ridge regression of relative errors on the side
`fit`, each weight held to what its bytes suggest until samples say otherwise: rare tokens stay near the average of their kind
(script, length, place in a word, and what the token counts by itself, from `count_tokens.py`). Prints how far off the sums are on both sides.
"""

import json
import sys
import unicodedata

import numpy as np
import tiktoken
from scipy import sparse
from scipy.sparse.linalg import lsqr
from tiktoken.load import load_tiktoken_bpe

UNIT = 24
PATTERN = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)


def kind(token):
    """What a token is, as far as its bytes tell."""
    text = token.decode("utf-8", "replace")
    body = text.strip()
    if "\ufffd" in text:
        return f"part {token[0] >> 4} {min(len(token), 4)}"
    if not body:
        return f"space {min(len(text), 9)} {text[:1]!r}"
    first = body[0]
    if first.isalpha() or unicodedata.category(first).startswith("M"):
        script = unicodedata.name(first, "?").split()[0]
        case = "U" if body.isupper() and len(body) > 1 else "C" if first.isupper() else "l"
        marks = "+" if script == "LATIN" and not body.isascii() else ""
        return f"{script}{marks} {case} {' ' if text[0] == ' ' else ''} {min(len(body), 12)}"
    if first.isdigit():
        return f"digit {len(body)}"
    return f"sign {min(len(body), 6)} {body.isascii()} {text[0] == ' '} {len(set(body)) == 1}"


def main():
    samples, counts, tokens, field, ranks, out = sys.argv[1:]
    encoding = tiktoken.Encoding("o200k", pat_str=PATTERN, mergeable_ranks=load_tiktoken_bpe(ranks), special_tokens={})
    size = encoding.max_token_value + 1
    kinds_of, kinds = np.zeros(size, dtype=np.int64), {}
    with open(tokens) as counted:
        alone = [json.loads(line)[field] for line in counted]
    for token in range(size):
        name = f"{min(max(alone[token], 0), 9)} " + kind(encoding.decode_single_token_bytes(token))
        kinds_of[token] = kinds.setdefault(name, len(kinds))

    rows, truths, sides, names = [], [], [], []
    with open(samples, encoding="utf-8") as texts, open(counts) as counted:
        for line, count in zip(texts, counted):
            sample, count = json.loads(line), json.loads(count)[field]
            ids, times = np.unique(encoding.encode_ordinary(sample["text"]), return_counts=True)
            rows.append((ids, times / count))
            truths.append(count)
            sides.append(sample["side"] == "fit")
            names.append(sample["kind"])
    truths, sides = np.array(truths), np.array(sides)
    matrix = sparse.csr_matrix(
        (np.concatenate([t for _, t in rows]), np.concatenate([i for i, _ in rows]), np.cumsum([0] + [len(i) for i, _ in rows])),
        shape=(len(rows), size),
    )
    print(f"{len(rows)} texts, {sides.sum()} fitted, {len(kinds)} kinds of tokens")

    def ridge(features, start, hold):
        target = 1.0 - features @ start
        return start + lsqr(features, target, damp=hold, iter_lim=400)[0]

    firsts = np.array([1.2 if name[0] == "0" else float(name[0]) for name in kinds])
    to_kinds = sparse.csr_matrix((np.ones(size), (np.arange(size), kinds_of)), shape=(size, len(kinds)))
    fitted = matrix[sides]
    of_kinds = ridge(fitted @ to_kinds, firsts, 0.02)
    start = np.clip(of_kinds, 0.2, 10)[kinds_of]
    best = None
    for hold in (0.05, 0.1, 0.2):
        weights = np.clip(ridge(fitted, start, hold), 1 / UNIT, 255 / UNIT)
        off = matrix[~sides] @ weights - 1
        error = np.sqrt(np.mean(off**2))
        print(f"hold {hold}: {100 * error:.2f} % off on texts held back; {100 * np.sqrt(np.mean((fitted @ weights - 1) ** 2)):.2f} % on fitted ones")
        if best is None or error < best[0]:
            best = (error, hold, weights)
    _, hold, weights = best
    bytes_ = np.round(weights * UNIT).astype(np.uint8)
    bytes_.tofile(out)
    off = 100 * (matrix @ (bytes_ / UNIT) - 1)
    print(f"with {hold}, on texts held back of over 500 tokens, in percent")
    judged = ~sides & (truths > 500)
    groups = {"all": judged}
    for name in sorted(set(names)):
        groups[name] = judged & np.array([n == name for n in names])
    for name, chosen in groups.items():
        if chosen.sum() >= 1:
            e = off[chosen]
            print(f"{name:22}{len(e):6} min {e.min():6.1f} p1 {np.percentile(e, 1):6.1f} p5 {np.percentile(e, 5):6.1f} p50 {np.percentile(e, 50):6.1f} p95 {np.percentile(e, 95):6.1f} max {e.max():6.1f}")


if __name__ == "__main__":
    main()
