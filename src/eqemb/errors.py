"""The errors people meet: one sentence that says what, where and what to do.

Anything raised on purpose towards a user is an `EqembError`; the command line prints its
sentence and exits with its code. Nothing here imports anything of ours.
"""


class EqembError(Exception):
    """A failure that a person can act on; `str(error)` is the whole message."""

    exit_code = 1


class UsageError(EqembError):
    """The request itself cannot be carried out (a wrong path, an impossible setting)."""

    exit_code = 2


class UnknownKeyError(UsageError, KeyError):
    """There is no vector by this name; a KeyError too, as readers of gensim's code expect."""

    __str__ = Exception.__str__  # KeyError's would put the sentence in quotes


class ThresholdError(EqembError):
    """The work was done, but a threshold that was asked for was missed."""

    exit_code = 3


class SourceError(EqembError):
    """A source that cannot be read as a paper.

    `cause` is one of the fixed words the report counts by; `detail` says more.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}: {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail
