"""Gathers texts to fit and to judge by, in a folder for each kind: `collect.py OUT [FOLDER]...`.

FOLDERs are searched for files of code and markup, for pages of help (`help/LANGUAGE/*.page`) and for interface texts
(`locale/LANGUAGE/LC_MESSAGES/*.mo`). `run` names those of the machine: the sources of crates, headers, Python's own modules, npm
packages, and what Debian's packages hold in help and in translations. What is there differs from machine to machine, so
figures are of the day that `docs/counting.md` names.
"""

import gettext
import hashlib
import pathlib
import random
import sys

SUFFIXES = "rs go rb php lua cpp cc java ex rst toml md json c h hpp py js ts mjs css html sh sql svg xml yml yaml pl tcl txt diff csv".split()
FILES, PAGES, PACKAGES_SHARE = 260, 200, 6


def text_of_translations(path):
    with open(path, "rb") as file:
        try:
            catalog = gettext.GNUTranslations(file)._catalog
        except (OSError, UnicodeDecodeError, ValueError, AttributeError, KeyError, IndexError):
            return ""
    return "\n".join(text for key, text in catalog.items() if key and isinstance(text, str) and text)


def main():
    out, *folders = sys.argv[1:]
    out, rng = pathlib.Path(out), random.Random(5)
    code = {suffix: [] for suffix in SUFFIXES}
    pages, interfaces = {}, {}
    for folder in map(pathlib.Path, folders):
        for path in folder.rglob("*"):
            suffix, parts = path.suffix[1:].lower(), path.parts
            if suffix == "page" and "help" in parts:
                pages.setdefault(parts[parts.index("help") + 1], []).append(path)
            elif suffix == "mo" and "LC_MESSAGES" in parts:
                interfaces.setdefault(parts[parts.index("LC_MESSAGES") - 1], []).append(path)
            elif suffix in code and ".min." not in path.name and path.is_file() and not path.is_symlink() and 1_000 <= path.stat().st_size <= 400_000:
                code[suffix].append((folder, path))
    for suffix, found in code.items():
        rng.shuffle(found)
        # Few of each package, so that no one style is the measure.
        package, taken = {}, 0
        for folder, path in found:
            inner = path.relative_to(folder).parts
            of = (folder, *inner[:-1][:5])
            package[of] = package.get(of, 0) + 1
            if package[of] > PACKAGES_SHARE:
                continue
            to = out / f"code-{suffix}" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:12]}.{suffix}"
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
            taken += 1
            if taken == FILES:
                break
    for language, found in pages.items():
        for path in rng.sample(sorted(found), min(PAGES, len(found))):
            to = out / f"prose-{language}" / path.name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    for language, found in interfaces.items():
        texts = [(path.stem, text_of_translations(path)) for path in sorted(found)]
        # Strings of one program stay together: it is on one side.
        for name, text in texts:
            if len(text.encode()) >= 3_000:
                to = out / f"prose-{language}-ui" / f"{name}.txt"
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_text(text[:60_000])


main()
