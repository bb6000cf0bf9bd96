"""Measure what fold-in loses against retraining.

    python benchmarks/foldin.py LIBRARY nlp ir ai ml

A fifth of the articles, chosen by a hash of their names, is excluded from training. Their equations
are then folded in, with the words around them (EqEmb) or from their units alone (EqEmb-U), and
held-out words of these articles are scored. They are compared with words alone, and with a model
trained on everything except these words, whose word vectors have seen the new articles too. Plain
vocabulary, all displays, K=50, W=4, E=16.
"""

import argparse
import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from eqemb.corpus.corpus import Corpus, EquationToken, TokenStream
from eqemb.corpus.split import TEST, Split, SplitSettings, contexts
from eqemb.corpus.vocabulary import Rules
from eqemb.facade.library import Library
from eqemb.models import EqEmb, EqEmbU, likelihood, workspace
from eqemb.models.base import context_sum
from eqemb.models.embeddings import Embeddings
from eqemb.models.fold_in import among_words

SHAPE = {"dim": 50, "window": 4, "equation_window": 16}
KEPT = Rules(min_count=1, top=0, min_length=1, abbreviations=0, stop_words=False)


def decoded(corpus: Corpus, wanted: list[int]) -> Iterator[tuple[str, str, TokenStream]]:
    """Convert the articles of a corpus back to streams."""

    def stream(article: int) -> TokenStream:
        at = int(corpus.starts[article])
        for index in range(*corpus.equation_starts[article : article + 2].tolist()):
            place, type_ = int(corpus.equation_positions[index]), corpus.equation_types[index]
            yield from (corpus.words[word] for word in corpus.tokens[at:place])
            units = corpus.unit_ids[corpus.unit_starts[type_] : corpus.unit_starts[type_ + 1]]
            yield EquationToken(corpus.forms[type_], [corpus.units[unit] for unit in units])
            at = place
        yield from (corpus.words[word] for word in corpus.tokens[at : corpus.starts[article + 1]])

    for article in wanted:
        yield corpus.articles[article], "", stream(article)


def is_new(name: str) -> bool:
    """Whether an article is one of the excluded fifth."""
    return hashlib.sha256(name.encode()).digest()[0] % 5 == 0


def joined(old: Corpus, new: Corpus, held: tuple[Split, Split]) -> tuple[Corpus, Split]:
    """Join two corpora in the vocabulary of the first, with both splits."""
    size, occurrences = len(old.tokens), len(old.equation_types)
    whole = replace(
        new,
        tokens=np.concatenate([old.tokens, new.tokens]),
        starts=np.r_[old.starts, size + new.starts[1:]],
        articles=old.articles + new.articles,
        collections=old.collections + new.collections,
        equation_positions=np.r_[old.equation_positions, size + new.equation_positions],
        equation_types=np.concatenate([old.equation_types, new.equation_types]),
        equation_starts=np.r_[old.equation_starts, occurrences + new.equation_starts[1:]],
        equation_names=old.equation_names + new.equation_names,
    )
    one, other = held
    split = replace(
        one,
        positions=np.r_[one.positions, size + other.positions],
        occurrences=np.r_[one.occurrences, occurrences + other.occurrences],
        parts=np.r_[one.parts, other.parts],
        words=np.r_[one.words, other.words],
        types=np.r_[one.types, other.types],
        negatives=np.concatenate([one.negatives, other.negatives]),
        corpus=whole.sha256,
    )
    return whole, split


def scored(model: Embeddings, corpus: Corpus, split: Split, added: np.ndarray) -> likelihood.Means:
    """Score the test words of new articles, with their equations' vectors in the context."""
    test = split.of(TEST)
    context = context_sum(model.arrays["alpha_words"], contexts(corpus, split, 3)[test])
    found = likelihood.score(
        model.arrays["rho_words"], split.words[test], split.negatives[test], context + added
    )
    return likelihood.means(found)


def main() -> None:
    """Train twice, fold in once, and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print("softmax and accuracy of n test words in new articles, 20 negatives, one seed;")
    print("zero vectors score -3.093 and .5; retrained: trained on these articles too")
    head = ("words", "folded in", "words retrained", "retrained")
    print(
        f"{'':8}{'model':9}{'types':>6}{'n':>6}{'ms/type':>9}"
        + "".join(f"{name:>16}" for name in head)
    )
    for name in given.collections:
        with Library.open(given.library) as library:
            corpus = workspace.corpus(library, workspace.CorpusChoice(name))
        new_ones = [index for index, a in enumerate(corpus.articles) if is_new(a)]
        old_ones = [index for index, a in enumerate(corpus.articles) if not is_new(a)]
        old = Corpus.build(decoded(corpus, old_ones), KEPT)
        new = old.encode(decoded(corpus, new_ones))
        held = Split.make(old), Split.make(new, SplitSettings(seed=1))
        whole, both = joined(old, new, held)
        test = held[1].of(TEST)
        types = held[1].types[test]
        for kind in (EqEmb, EqEmbU):
            model = kind(**SHAPE).fit(old, held[0], threads=given.threads).embeddings_
            start = time.perf_counter()
            folded = among_words(
                model, old, new, split=held[0], new_split=held[1], threads=given.threads
            )
            each = (time.perf_counter() - start) / max(1, len(folded.forms))
            alpha = np.concatenate([model.arrays["alpha_equations"], folded.alpha])
            retrained = kind(**SHAPE).fit(whole, both, threads=given.threads).embeddings_
            nothing = np.zeros((len(types), SHAPE["dim"]))
            rows = [
                scored(model, new, held[1], nothing),
                scored(model, new, held[1], alpha[types]),
                scored(retrained, new, held[1], nothing),
                scored(retrained, new, held[1], retrained.arrays["alpha_equations"][types]),
            ]
            shown = "".join(f"{row.softmax:9.3f} {row.accuracy:.4f}" for row in rows)
            sizes = f"{len(folded.forms):6}{len(types):6}{1000 * each:9.2f}"
            print(f"{name:8}{kind.name:9}{sizes}{shown}", flush=True)


if __name__ == "__main__":
    main()
