"""How the near-duplicate threshold behaves: groups in real problems, and copies found again after rewording.

Without a file, the problems are those of the starter generator. With `--problems`, a JSON lines file that has a
`question` or `problem` in every row, such as the GSM8K test set.

Run: python benchmarks/near_duplicates.py [--problems gsm8k_test.jsonl]
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from pathlib import Path

from eduardo.classroom import problems
from eduardo.dataset.near_duplicates import NearDuplicates
from eduardo.dataset.sources import read_records
from eduardo.dataset.wording import masked_words

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
NUM_STARTER = 638
Rewording = Callable[[str, random.Random], str]


def read_texts(file: Path | None) -> list[str]:
    if file is None:
        templates = problems.templates()
        return [
            problems.generate_pair(random.Random(n), templates[n % len(templates)]).source.text
            for n in range(NUM_STARTER)
        ]
    rows = [record.value for record in read_records(file) if isinstance(record.value, dict)]
    return list(dict.fromkeys(str(row.get("question") or row["problem"]) for row in rows))


def new_names_and_numbers(text: str, rng: random.Random) -> str:
    names = re.sub(r"(?<!^)\b[A-Z][a-z]+\b", lambda _: rng.choice(["Ana", "Bob", "Chen"]), text)
    return re.sub(r"\d+", lambda _: str(rng.randint(2, 999)), names)


def replace_words(share: float) -> Rewording:
    def reword(text: str, rng: random.Random) -> str:
        words = text.split(" ")
        for place in rng.sample(range(len(words)), max(1, int(len(words) * share))):
            words[place] = f"other{rng.randrange(1000)}"
        return " ".join(words)

    return reword


def drop_sentence(text: str, rng: random.Random) -> str:
    sentences = re.split(r"(?<=[.?!]) ", text)
    if len(sentences) > 1:
        sentences.pop(rng.randrange(len(sentences)))
    return " ".join(sentences)


REWORDINGS: dict[str, Rewording] = {
    "new names and numbers": new_names_and_numbers,
    "one word in ten replaced": replace_words(0.1),
    "one word in five replaced": replace_words(0.2),
    "one sentence dropped": drop_sentence,
}


def share_found(texts: list[str], reword: Rewording, threshold: float) -> float:
    """Share of texts whose reworded copy is related to them."""
    rng = random.Random(0)
    words = [masked_words(text) for text in texts] + [masked_words(reword(text, rng)) for text in texts]
    near = NearDuplicates([[one] for one in words], [[]] * len(words), threshold)
    found = [near.related([copy], [text]) for text, copy in enumerate(range(len(texts), len(words)))]
    return sum(map(bool, found)) / len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=Path)
    texts = read_texts(parser.parse_args().problems)
    print(f"{len(texts)} problems" + " " * 20 + "".join(f"{threshold:>8}" for threshold in THRESHOLDS))
    groups = [
        NearDuplicates([[masked_words(text)] for text in texts], [[]] * len(texts), threshold).groups(
            range(len(texts))
        )
        for threshold in THRESHOLDS
    ]
    print(f"{'groups':32}" + "".join(f"{len(found):8}" for found in groups))
    print(f"{'largest group':32}" + "".join(f"{max(map(len, found)):8}" for found in groups))
    in_groups = [sum(len(group) for group in found if len(group) > 1) for found in groups]
    print(f"{'rows in groups of two or more':32}" + "".join(f"{num_rows:8}" for num_rows in in_groups))
    for name, reword in REWORDINGS.items():
        shares = [share_found(texts, reword, threshold) for threshold in THRESHOLDS]
        print(f"{name:32}" + "".join(f"{100 * share:7.1f}%" for share in shares))


if __name__ == "__main__":
    main()
