"""What equations are about: words with sentences, neighbours of words, and sums."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.search.describe import Description
from eqemb.search.results import Answer

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a model made by hand."""
    with make_library(tmp_path_factory.mktemp("axes")) as made:
        yield made


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The same library without a model."""
    with make_library(tmp_path_factory.mktemp("bare"), model=False) as made:
        yield made


def words(found: Description) -> list[str]:
    """Return the words of a description."""
    return [said.word for said in found]


def ids(answer: Answer) -> list[str]:
    """Return the names of the hits, in order."""
    return [hit.equation.id for hit in answer]


# -- describe


@pytest.mark.parametrize("equation", ["angles#1", "documents(2.3)", COSINE])
def test_an_equation_is_described_by_words_of_similar_ones(library: Library, equation: str) -> None:
    """Whether it is named or pasted with other letters."""
    found = library.describe(equation)
    assert {"cosine", "similarity", "vectors"} <= set(words(found)[:4])
    assert "recall" not in words(found)


def test_a_library_without_model_describes_too(bare: Library) -> None:
    """Words and structure are enough."""
    found = words(bare.describe(COSINE))
    assert {"similarity", "documents", "cosine"} <= set(found)
    assert "recall" not in found
    assert bare.describe(COSINE).notes == []


def test_words_are_shown_in_their_usual_form(library: Library) -> None:
    """Not as stems, nor in the form that occurs first: documents, similarity."""
    found = words(library.describe(COSINE, 20))
    assert "similarity" in found
    assert "documents" in found
    assert not {"similar", "document", "similarities"} & set(found)


def test_each_sentence_has_its_word(library: Library) -> None:
    """As written in the paper, with inline mathematics and a mark for the equation."""
    found = {said.word: said for said in library.describe("angles#1", 20)}
    assert all(said.word in (said.sentence or "").lower() for said in found.values())
    assert (found["cosine"].sentence or "").startswith(
        "The cosine of the angle between two vectors $x$ and $y$ is [equation]"
    )
    assert found["cosine"].article == "angles"


def test_its_own_sentences_come_first(library: Library) -> None:
    """Sentences that refer to it count as its own."""
    for name in ("angles", "documents"):
        found = {said.word: said for said in library.describe(f"{name}#1", 20)}
        assert found["vectors"].article == name
    mine = {said.word: said for said in library.describe("angles#1", 20)}
    assert (mine["documents"].sentence or "").startswith("Whoever compares documents")


def test_scores_decrease(library: Library) -> None:
    """They do not depend on the number of words."""
    few, many = library.describe(COSINE, 3), library.describe(COSINE, 20)
    assert few.words == many.words[:3]
    scores = [said.score for said in many]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) <= 1 + 1e-6


def test_similar_equations_are_named(library: Library) -> None:
    """Without the equation itself."""
    assert set(library.describe(COSINE).similar[:2]) == {"angles#1", "documents#1"}
    assert "angles#1" not in library.describe("angles#1").similar


def test_an_equation_without_similar_ones_is_not_described(library: Library) -> None:
    """The answer is empty."""
    found = library.describe(r"\aleph \boxtimes \beth_{\gimel} \wp")
    assert (found.words, found.similar, found.equation) == ([], [], None)


def test_a_note_warns_if_similar_equations_disagree(library: Library) -> None:
    """Half a cosine and half an F-measure is neither; there is no note for nearly equal ones."""
    (note,) = library.describe(r"\frac{x \cdot y}{P + R}").notes
    assert "these words are uncertain" in note
    assert str(library.describe(r"\frac{x \cdot y}{P + R}")).startswith(note)
    for near in (COSINE, r"F = \frac{x \cdot y}{P + R}", "angles#1"):
        assert library.describe(near).notes == []


def test_the_json_of_a_description(library: Library) -> None:
    """The keys, and the equation as in a hit."""
    found = library.describe("documents#1", 2).to_json()
    assert list(found) == ["asked", "phrase", "words", "symbols", "kin", "notes", "reading"]
    word = found["words"][0]
    assert list(word) == ["word", "score", "sentence", "sentence_text", "article"]
    assert {"kind": "mark", "text": word["word"]} in word["sentence"]
    assert word["word"] in word["sentence_text"]
    assert (found["asked"]["id"], found["asked"]["number"]) == ("documents#1", "2.3")
    hit = library.search("documents#1")[0].to_json()
    assert found["asked"].items() <= hit.items()
    asked = library.describe(COSINE).to_json()["asked"]
    assert (list(asked), asked["latex"]) == (["latex", "text", "mathml"], COSINE)


def test_words_by_the_ranking_of_the_paper(library: Library) -> None:
    """The cosine of rho of the equation and alpha of words: words of its axis."""
    found = library.describe("angles#1", 7, by="paper")
    assert {said.word for said in found} == {
        *("cosine", "angle", "similarity", "similarities", "vectors", "documents", "lengths")
    }
    assert library.model is not None
    form = library.describe("angles#1").shape.canonical()
    own = library.model.view("equations", "rho").get_vector(form, norm=True)
    assert [said.score for said in found] == pytest.approx([float(own[0])] * 7)
    known = {said.word: said.sentence for said in found}
    assert "cosine" in (known["cosine"] or "").lower()


def test_a_similar_equation_replaces_one_without_vector(library: Library) -> None:
    """The most similar one that has a vector; a note names it."""
    found = library.describe(COSINE, 3, by="paper")
    assert any("is used instead" in note for note in found.notes)
    with pytest.raises(UsageError, match="choose all or paper"):
        library.describe(COSINE, by="magic")  # type: ignore[arg-type]


# -- words


def test_neighbours_of_a_word(library: Library) -> None:
    """Words along its axis, without itself; the case does not matter."""
    found = library.words("Recall", 4)
    assert {word for word, _ in found} == {"harmonic", "precision", "balanced", "retrieval"}
    assert found.word == "recall"
    assert found.to_json()["words"][0]["score"] == pytest.approx(1.0)


def test_similar_spellings_are_suggested_for_unknown_words(library: Library, bare: Library) -> None:
    """Without a model the error says how to get one."""
    with pytest.raises(UsageError, match="did you mean cosine"):
        library.words("cosin")
    with pytest.raises(UsageError, match="eqemb build"):
        bare.words("cosine")


# -- query


def test_sums_of_words_and_units_and_equations(library: Library) -> None:
    """Positive members attract, negative ones repel."""
    assert ids(library.query("cosine"))[0] in ("angles#1", "documents#1")
    assert ids(library.query(["recall"]))[0] in ("harmonic#1", "again#1")
    unit = ("2", "V!P", "n")
    units = library.engine.records.parts[0].unit_names()
    one, two, path = next(unit for unit in units if "V!P" in unit).split("\t")
    unit = one, two, path
    assert ids(library.query([unit]))[0] in ("harmonic#1", "again#1")
    assert ids(library.query([f"({', '.join(unit)})"])) == ids(library.query([unit]))
    assert ids(library.query([f"${COSINE}$", "recall", "recall"], ["cosine"]))[0] in (
        *("harmonic#1", "again#1"),
    )


def test_members_of_a_sum_are_not_hits(library: Library) -> None:
    """Like the keys given to `most_similar`."""
    found = ids(library.query(["angles#1"]))
    assert found[0] == "documents#1"
    assert "angles#1" not in found


def test_an_article_is_read_once_for_a_description(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many similar equations it has."""
    read: list[int] = []
    article_text = library.records.article_text

    def counted(key: int) -> str:
        read.append(key)
        return article_text(key)

    monkeypatch.setattr(library.records, "article_text", counted)
    kin = library.describe("harmonic#1").similar
    assert {"again#1", "again#2"} <= set(kin)
    assert len(read) == len(set(read)) > 1


def test_a_member_of_a_sum_may_have_any_label(library: Library) -> None:
    """With a blank, a comma and an underscore it is still a name."""
    found = library.query(["again:eq:f_1, again"])
    assert found.unknown == []
    assert "again#1" not in ids(found)
    assert ids(found) == ids(library.query(["again#1"]))


def test_an_equation_without_similar_ones_adds_nothing(library: Library) -> None:
    """A note says so, and the other members count."""
    alone = library.query([r"$\zzqq^\wwvv$"])
    assert alone.hits == []
    assert "similar to $" in alone.notes[0]
    assert ids(library.query([r"$\zzqq^\wwvv$", "recall"])) == ids(library.query(["recall"]))


def test_unknown_members_of_a_sum_are_reported(library: Library, bare: Library) -> None:
    """Unknown words with suggestions, unknown units as a note, a missing model as an error."""
    answer = library.query(["cosin"])
    assert (answer.hits, answer.unknown, answer.near) == ([], ["cosin"], {"cosin": ["cosine"]})
    assert "no unit" in library.query([("?", "?", "q")]).notes[0]
    for wrong in ((), [3]):
        with pytest.raises(UsageError):
            library.query(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="eqemb build"):
        bare.query(["cosine"])
    with pytest.raises(UsageError, match="did you mean angles"):
        library.query(["angels#1"])


def test_sums_respect_filters(library: Library) -> None:
    """Like searches."""
    assert ids(library.query(["cosine"], article="documents")) == ["documents#1"]


def test_queries_need_numpy_only(library: Library) -> None:
    """No answer loads numba, SciPy or PyTorch."""
    code = (
        "import sys; from pathlib import Path; from eqemb import Library\n"
        "library = Library.open(Path(sys.argv[1]))\n"
        "library.describe('angles#1'); library.describe('angles#1', by='paper')\n"
        "library.words('cosine'); library.query(['cosine'], ['recall'])\n"
        "library.why('cosine', 'angles#1'); library.why('angles#1', 'documents#1')\n"
        "library.search('cosine', by='paper'); library.similar('x + y', by='paper')\n"
        "print(*{'numba', 'scipy', 'torch', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(library.folder))],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert not done.stdout.split()
