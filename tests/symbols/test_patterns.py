"""Patterns are tried only where they can match, and find what they find everywhere."""

from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.symbols import patterns
from eqemb.symbols.appositions import by_apposition, by_count, by_list, by_parenthesis
from eqemb.symbols.asides import by_aside, by_quantity
from eqemb.symbols.mentions import groups
from eqemb.symbols.phrases import Sentence
from eqemb.symbols.sentence import read_sentence
from eqemb.symbols.verbs import by_denoting, by_gap, by_verb

ALL = (
    by_verb, by_denoting, by_apposition, by_parenthesis, by_count, by_gap, by_aside, by_quantity,
    by_list,
)  # fmt: skip
WORDS = (
    "$x$ $y_i$ $K$ where is are denotes the a of rate set learning classes and , ( ) [ ] denoted by"
    " let be : = \u2013 := as such say namely i.e. which that we write refer to used respectively"
    " with controls stands for mapping binary gives serves scores resp. 's 1 if shorthand all ."
).split()


@settings(max_examples=500)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_no_pattern_is_left_out(text: str) -> None:
    """The tokens next to a group decide which patterns are tried, and lose none of their finds."""
    sentence = Sentence(read_sentence(text))
    for group in groups(sentence):
        tried = list(patterns._of_group(sentence, group))
        assert tried == [mention for pattern in ALL for mention in pattern(sentence, group)]
