"""Limits for one paper, and what reading it has cost so far.

They count what is done (characters, expansions, files), never seconds, and grow with the size of
the paper. So a paper that exceeds one stops at the same place on any machine.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one paper, several times what any of 562 real papers needs.

    Those in characters are for a small paper. Each character of its files adds some more, up to a
    limit for any paper.
    """

    expansions: int = 50_000
    """Plus one for every four characters of its files; the densest paper has one in 16."""
    output: int = 1_000_000
    """Characters of the expanded text; the longest has 1.2 for each in its files."""
    read: int = 1_000_000
    """Characters of files, as often as they are read; at most 1.5 for each in the files."""
    pushed: int = 1_000_000
    """Characters of macro bodies with their arguments in place; at most 2.5 for each."""
    wasted: int = 1_000_000
    """Characters read in search of an end that does not exist."""
    depth: int = 240
    recursion: int = 40
    group: int = 400_000
    inputs: int = 4_000
    nested_inputs: int = 20
    """Files that input each other; TeX opens 15."""


#: Characters of the detail of a problem.
MAX_DETAIL = 200
#: The cause for which files are not read.
INPUT_BUDGET = "input budget"
#: For each character of a paper's files, so many more, up to the total for any paper.
_OUTPUT_GROWTH, _MOST_OUTPUT = 10, 12_000_000
_READ_GROWTH, _MOST_READ = 10, 64_000_000
_PUSHED_GROWTH, _MOST_PUSHED = 40, 16_000_000


@dataclass(slots=True)
class Work:
    """What was done for one paper; all its documents share it."""

    budget: Budget
    files: set[str] = field(default_factory=set)
    size: int = 0
    """Characters of its files, each counted once."""
    expansions: int = 0
    output: int = 0
    """Characters that earlier documents of the paper have expanded to."""
    read: int = 0
    pushed: int = 0
    most_expansions: int = 0
    most_output: int = 0
    most_read: int = 0
    most_pushed: int = 0

    def __post_init__(self) -> None:
        self._set_limits()

    def open(self, path: str, length: int) -> bool:
        """Count a file of some characters that is to be read; whether the budget allows it."""
        if path not in self.files:
            self.files.add(path)
            self.size += length
            self._set_limits()
        self.read += length
        return self.read <= self.most_read

    def expand(self, count: int) -> bool:
        """Count expansions; whether the budget allows them, and what they have cost so far."""
        self.expansions += count
        return self.expansions <= self.most_expansions and self.pushed <= self.most_pushed

    def push(self, characters: int) -> bool:
        """Count characters of macro bodies; whether the budget allows them."""
        self.pushed += characters
        return self.pushed <= self.most_pushed

    def _set_limits(self) -> None:
        budget, size = self.budget, self.size
        self.most_expansions = budget.expansions + size // 4
        self.most_output = max(
            budget.output, min(budget.output + _OUTPUT_GROWTH * size, _MOST_OUTPUT)
        )
        self.most_read = max(budget.read, min(budget.read + _READ_GROWTH * size, _MOST_READ))
        self.most_pushed = max(
            budget.pushed, min(budget.pushed + _PUSHED_GROWTH * size, _MOST_PUSHED)
        )
