"""Fits the estimators' weights: `fit.py SAMPLES.jsonl COUNTS.jsonl TOKENS.jsonl FIELD O200K.tiktoken OUT.weights`.

An estimator reads a text as the tokens of `o200k_base` and adds up a weight for each: how many tokens of another tokenizer it
stands for. A weight is a byte, in 24ths of a token (at most 10.6). The fit is ridge regression of relative errors on the side
`fit`, each weight held to what its bytes suggest until samples say otherwise: rare tokens stay near the average of their kind
(script, length, place in a word, and what the token counts by itself, from `count_tokens.py`). It is repeated with more
weight on texts that came out low, and less on single texts that are far off.

How firmly weights are held, and by how much the sums of each class of texts are raised, is chosen on the side `margin`: the
margin is what leaves one text in a hundred more than 3 % low. Classes are those of the estimator: by the share of bytes that
continue a character. Nothing is chosen on the side `test`, which `report.py` judges. Prints the margins in thousandths.
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
# Shares of continuing bytes below which a text is narrow, and mixed; the others are wide.
CLASSES = (0.02, 0.12)


def text_class(text):
    """The class of a text: 0 narrow, 1 mixed, 2 wide."""
    size = max(1, len(text.encode()))
    share = (size - len(text)) / size
    return sum(share >= bound for bound in CLASSES)

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

    rows, truths, sides, classes = [], [], [], []
    with open(samples, encoding="utf-8") as texts, open(counts) as counted:
        for line, count in zip(texts, counted):
            sample, count = json.loads(line), json.loads(count)[field]
            ids, times = np.unique(encoding.encode_ordinary(sample["text"]), return_counts=True)
            rows.append((ids, times / max(count, 1)))
            truths.append(count)
            sides.append(sample["side"])
            classes.append(text_class(sample["text"]))
    truths, sides, classes = np.array(truths), np.array(sides), np.array(classes)
    matrix = sparse.csr_matrix(
        (np.concatenate([t for _, t in rows]), np.concatenate([i for i, _ in rows]), np.cumsum([0] + [len(i) for i, _ in rows])),
        shape=(len(rows), size),
    )
    fits, chooses = (sides == "fit") & (truths > 200), (sides == "margin") & (truths > 500)
    print(f"{len(rows)} texts, {fits.sum()} fitted, {chooses.sum()} choose, {len(kinds)} kinds of tokens")

    def ridge(features, start, hold, weight):
        target = weight * (1.0 - features @ start)
        return start + lsqr(sparse.diags(weight) @ features, target, damp=hold, iter_lim=150)[0]

    firsts = np.array([1.2 if name[0] == "0" else float(name[0]) for name in kinds])
    to_kinds = sparse.csr_matrix((np.ones(size), (np.arange(size), kinds_of)), shape=(size, len(kinds)))
    fitted = matrix[fits]
    even = np.ones(fitted.shape[0])
    start = np.clip(ridge(fitted @ to_kinds, firsts, 0.02, even), 0.2, 10)[kinds_of]
    best = None
    for hold in (0.03, 0.06):
        weight = even
        for _ in range(3):
            weights = np.clip(ridge(fitted, start, hold, weight), 1 / UNIT, 255 / UNIT)
            off = fitted @ weights - 1
            weight = np.where(off < 0, 1.6, 1.0) / np.sqrt(np.maximum(np.abs(off), 0.01) / 0.03)
        off = matrix[chooses] @ weights - 1
        width = np.percentile(off, 95) - np.percentile(off, 1)
        print(f"hold {hold}: {100 * width:.2f} % from the first to the 95th of a hundred", flush=True)
        if best is None or width < best[0]:
            best = (width, hold, weights)
    _, hold, weights = best
    # Runs of one letter or digit fill padding and little else: what they count alone says more than the few samples.
    for token in range(size):
        text = encoding.decode_single_token_bytes(token)
        if len(text) > 2 and text.isalnum() and len(set(text)) == 1 and alone[token] > 0:
            weights[token] = min(alone[token], 255 / UNIT)
    bytes_ = np.round(weights * UNIT).astype(np.uint8)
    bytes_.tofile(out)
    off = matrix @ (bytes_ / UNIT)
    margins = []
    for text in range(3):
        low = np.percentile(off[chooses & (classes == text)], 1)
        margins.append(max(5, int(np.ceil(200 * (0.97 / low - 1)) * 5)))
    print(f"with {hold}; margins {','.join(map(str, margins))}")


if __name__ == "__main__":
    main()
