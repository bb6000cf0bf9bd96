"""What kind of word a word is: closed classes by list, the rest by its ending.

There is no tagger behind this. It only has to find where noun phrases of scientific English begin
and end, so a word that no list and no ending knows is taken for a noun.
"""

#: Kinds of tokens. A nominal is a noun, or an adjective that no ending gives away.
FORMULA, EQUATION, NOMINAL, ADJECTIVE, GERUND, PARTICIPLE = "S", "E", "N", "J", "G", "Y"
DETERMINER, PREPOSITION, CONJUNCTION, VERB, BE, ADVERB = "D", "P", "C", "V", "B", "R"
SUBORDINATOR, PRONOUN, NUMBER = "W", "O", "#"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


INDEFINITE = _words("a an")
QUANTIFIERS = _words("each every any some all no either neither another")
_POSSESSIVES = _words("our its their his her your my whose")
_COUNTS = _words("two three four five six seven eight nine ten both several many few multiple")
_DETERMINERS = INDEFINITE | QUANTIFIERS | _POSSESSIVES | _COUNTS | _words("the this these those")
_PREPOSITIONS = _words(
    "of in on at by for with from to into onto over under between among amongst through via per"
    " against within without across during before after about around above below along towards"
    " toward upon as than like until till despite except beyond near inside outside behind beside"
    " throughout wrt w.r.t w.r.t. given regarding concerning including excluding versus vs vs."
    " according due up out off"
)
_CONJUNCTIONS = _words("and or nor & plus")
_SUBORDINATORS = _words(
    "where which that when if iff while whereas because since although though so then hence thus"
    " therefore unless whether who whom how why what but however such i.e. e.g. i.e e.g namely"
    " wherein whereby once whenever wherever cf cf. resp. resp otherwise moreover"
    " furthermore note recall let suppose assume here there yet else instead not"
)
_PRONOUNS = _words("we it they i you he she us them itself themselves one's this that ones let's")
_BE = _words("is are be being was were been am")
_MODALS = _words(
    "can could may might must shall should will would do does did has have had having cannot let's"
)
_ADVERBS = _words(
    "also then just again now always often never still already only even very more most less least"
    " too here there simply not usually typically first second finally next respectively respective"
    " hereafter henceforth e.g further thereby rather quite well together otherwise"
)
_NOT_ADVERBS = _words("family anomaly assembly supply homily monopoly polly reply butterfly")

_VERBS = """
accept achieve acquire act adapt add address adjust adopt affect aggregate aim allow appear append
apply approach approximate argue arise ascertain assess assign assume attain attempt augment avoid
become begin behave belong bring build calculate call capture carry cause choose classify coincide
collect combine compare comprise compute concatenate conclude consider consist construct contain
continue converge convert correspond create decide decode decompose decrease define delete
demonstrate denote depend derive describe designate determine differ discuss distinguish divide
draw eliminate emphasize employ enable encode encourage ensure enter enumerate evaluate examine
exceed exclude exhibit exist expand expect explain exploit express extend extract facilitate fail
feed find fix focus follow forward generate get give govern grow guarantee happen help highlight
hold identify illustrate imply impose improve include incorporate increase incur index indicate
induce infer inherit initialise initialize inject insert inspect introduce invoke involve iterate
keep know lead learn leave lie maintain make map marginalize match maximise maximize mean minimise
minimize modify multiply normalise normalize obey observe obtain occur omit operate optimise
optimize outperform parameterise parameterize parametrise parametrize partition pass penalize
perform permit pick place play possess predict prefer prepare present preserve prevent proceed
produce propagate propose prove provide pull push quantify read receive recompute recover reduce
refer reflect regard reject relate rely remain remember remove render repeat replace represent
require resemble restrict retain retrieve reveal rise satisfy say see seek seem select send serve
show shrink simplify solve specify stand start store suffer suffice suggest summarise summarize
suppose symbolize take tell tend think train transform treat try tune undergo understand use
utilise utilize vanish vary verify view want wish write yield
"""
#: Verbs whose -s form is usually a plural noun in mathematics.
_PLURALS_TOO = _words("maps means views draws starts repeats places codes uses acts trains")
#: Their bare forms are usually nouns or adjectives.
_NOUNS_TOO = _words(
    "map mean view train place play draw start index measure forward repeat present read address"
    " attempt aim focus cause help act partition use transform push pull"
)
_IRREGULAR = _words(
    "began begun brought built chose chosen drew drawn fed found gave given got grew grown held"
    " kept knew known led left lay lain made meant said saw seen sent showed shown stood took taken"
    " told thought tried understood wrote written ran run became"
)
#: Words in -ing that are nouns, or parts of names.
_ING_NOUNS = _words(
    "learning training embedding mapping scaling sampling encoding ranking smoothing string ring"
    " setting clustering hashing bounding coupling mixing covering spacing reasoning ordering"
    " weighting pooling labeling labelling timing meaning warping testing sorting matching drawing"
    " packing spring thing king building branching padding stopping processing damping forcing"
    " loading pricing reading scattering hopping stemming crossing wing marking masking alignment"
    " rating listing beginning engineering modeling modelling programming"
)
_ED_NOUNS = _words("seed speed feed need bed embed deed red hundred shed")
_ADJECTIVES = _words(
    "large small high low new old good best better fixed given same different true false full"
    " sparse dense smooth convex finite infinite likely unlikely such other additional appropriate"
    " certain specific particular general possible simple discrete strong weak i.i.d i.i.d. iid"
    " following corresponding resulting desired known unknown own whole entire single distinct"
    " similar equal positive random latent hidden independent dependent consistent sufficient"
    " efficient current previous last next first second third main key common real exact close long"
    " short wide local global early late easy hard free binary joint intermediate separate"
    " alternate approximate adequate accurate complete concrete absolute remaining underlying"
    " existing interesting non-negative nonnegative non-zero nonzero unique open closed compact"
    " flat sharp rich poor clear subject invertible orthogonal orthonormal symmetric semantic far"
    " enough respective valid invalid right left top bottom upper lower inner outer big tiny"
    " natural"
)
_AL_NOUNS = _words(
    "signal interval integral proposal goal total potential arrival trial residual differential"
    " polynomial exponential material journal retrieval removal renewal mineral animal capital"
    " manual ideal functional diagonal normal principal individual terminal nonterminal non-"
    " terminal reversal credential multinomial binomial monomial marginal conditional rational"
)
_IVE_NOUNS = _words("objective derivative alternative perspective motive representative incentive")
_IC_NOUNS = _words(
    "metric topic characteristic statistic heuristic logic traffic critic dynamic quadratic clinic"
    " arithmetic fabric cubic schematic"
)
_ABLE_NOUNS = _words("variable table observable covariable timetable")
_ARY_NOUNS = _words("dictionary boundary vocabulary summary library salary")


def _inflections() -> dict[str, str]:
    """Every form of the listed verbs, with its kind."""
    kinds: dict[str, str] = {}
    for verb in _VERBS.split():
        stem = verb.removesuffix("e")
        third = verb + ("es" if verb.endswith(("s", "sh", "ch", "x")) else "s")
        past = stem + "ed"
        if verb.endswith("y") and verb[-2] not in "aeou":
            third, past = verb[:-1] + "ies", verb[:-1] + "ied"
        kinds[past] = PARTICIPLE
        kinds[(verb if verb.endswith("ee") else stem) + "ing"] = GERUND
        if third not in _PLURALS_TOO:
            kinds[third] = VERB
        if verb not in _NOUNS_TOO:
            kinds[verb] = VERB
    return kinds


_WORD_KINDS: dict[str, str] = {
    **_inflections(),
    **dict.fromkeys(_IRREGULAR, PARTICIPLE),
    **dict.fromkeys(_ADJECTIVES, ADJECTIVE),
    **dict.fromkeys(_MODALS, VERB),
    **dict.fromkeys(_ADVERBS, ADVERB),
    **dict.fromkeys(_PRONOUNS, PRONOUN),
    **dict.fromkeys(_PREPOSITIONS, PREPOSITION),
    **dict.fromkeys(_CONJUNCTIONS, CONJUNCTION),
    **dict.fromkeys(_SUBORDINATORS, SUBORDINATOR),
    **dict.fromkeys(_DETERMINERS, DETERMINER),
    **dict.fromkeys(_BE, BE),
    **dict.fromkeys(_ING_NOUNS, NOMINAL),
}

_ENDINGS: tuple[tuple[str, frozenset[str], str], ...] = (
    ("ly", _NOT_ADVERBS, ADVERB),
    ("ing", _ING_NOUNS, GERUND),
    ("ed", _ED_NOUNS, PARTICIPLE),
    ("al", _AL_NOUNS, ADJECTIVE),
    ("ive", _IVE_NOUNS, ADJECTIVE),
    ("ous", frozenset(), ADJECTIVE),
    ("ic", _IC_NOUNS, ADJECTIVE),
    ("able", _ABLE_NOUNS, ADJECTIVE),
    ("ible", frozenset(), ADJECTIVE),
    ("ary", _ARY_NOUNS, ADJECTIVE),
    ("ful", frozenset(), ADJECTIVE),
    ("less", frozenset(), ADJECTIVE),
    ("wise", frozenset(), ADJECTIVE),
)


def kind_of(word: str) -> str:
    """The kind of a word in lower case."""
    known = _WORD_KINDS.get(word)
    if known is not None:
        return known
    if word[:1].isdigit():
        return NUMBER
    last = word.rsplit("-", 1)[-1]
    if len(last) > 4:
        for ending, exceptions, kind in _ENDINGS:
            if last.endswith(ending):
                return NOMINAL if last in exceptions else kind
    if "-" in word and kind_of(last) in {PARTICIPLE, GERUND, ADJECTIVE, NUMBER, PREPOSITION}:
        return ADJECTIVE
    return NOMINAL


_SINGULAR_S = _words("loss bias axis basis class process analysis status gas mass focus radius")


def is_plural(word: str) -> bool:
    """Whether a noun in lower case is probably a plural."""
    if word in {"matrices", "vertices", "indices", "criteria", "data", "people", "children"}:
        return True
    last = word.rsplit("-", 1)[-1]
    return (
        len(last) > 3
        and last.endswith("s")
        and not last.endswith(("ss", "us", "is", "ics"))
        and last not in _SINGULAR_S
    )


#: Heads of phrases that name a place of the article or a formula, not what a symbol means.
EMPTY_HEADS = _words(
    "equation equations eq eqs eq. eqn section sections figure figures fig table tables theorem"
    " lemma proposition corollary appendix chapter ref citation fact facts case cases notation"
    " expression expressions formula formulas formulae inequality inequalities symbol symbols"
    " letter assumption form follows result results remark proof page line i.e e.g way"
    " claim conclusion property properties identity equality relation definition"
    " definitions condition conditions notations assumptions remainder footnote fashion manner "
    " respectively etc claims hence convention restriction constraint constraints"
    " hypothesis"
)
#: Heads that say little without a modifier.
VAGUE_HEADS = _words(
    "value values quantity quantities term terms variable variables parameter parameters element"
    " elements number numbers object objects thing things choice choices"
)
#: "a set of programs P": P is the set, and not the programs.
CONTAINERS = _words(
    "set sets sequence number collection list vector vectors matrix family tuple batch series"
    " array group pool length size dimension dimensionality rate degree probability amount level"
    " pair pairs subset class multiset sample ensemble stack string dataset database corpus"
    " fraction proportion percentage count space graph mixture sum product column row order depth"
    " width rank path field ratio range position index category kind grid bag cluster chain system"
    " basis speed coefficient coefficients function moment angle density"
)
#: Of these, the ones that a singular follows: "the dimension of embedding d".
EXTENTS = _words(
    "dimension dimensionality length size rate degree amount speed fraction proportion ratio"
    " number percentage"
)
#: "a distribution over actions p": p is the distribution.
DISTRIBUTIONS = _words(
    "distribution distributions prior priors posterior posteriors density measure"
)
