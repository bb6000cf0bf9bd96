"""Threads in compiled loops meet, and none waits for one that failed."""

import threading

import numpy as np
import pytest

from eqemb.kernels import barrier, cpu
from eqemb.kernels.barrier import Meeting, meet
from eqemb.kernels.compiling import kernel

TURNS = 200


@kernel
def _write_and_look(
    seen: np.ndarray, mine: np.ndarray, member: int, members: int, turns: int, meeting: Meeting
) -> int:
    """Changes `mine`, and counts how often another member was not in the same turn."""
    wrong = 0
    for turn in range(turns):
        mine[member] = turn
        if not meet(meeting, members):
            return -1
        for other in range(members):
            wrong += mine[other] != turn
        seen[member] += 1
        if not meet(meeting, members):
            return -1
    return wrong


@pytest.mark.parametrize("members", [1, 2, 5])
def test_all_members_are_in_the_same_turn(members: int) -> None:
    """Also where there are more threads than cores."""
    seen, mine = np.zeros(members, np.int64), np.zeros(members, np.int64)
    wrong = []

    def work(member: int, meeting: Meeting) -> None:
        wrong.append(_write_and_look(seen, mine, member, members, TURNS, meeting))

    with cpu.team(members) as team:
        team.together(work)
    assert wrong == [0] * members
    assert seen.tolist() == [TURNS] * members


@pytest.mark.parametrize("failing", [0, 1])
def test_no_member_waits_for_one_that_failed(failing: int) -> None:
    """The error reaches the caller, and the other member leaves."""
    left = threading.Event()

    def work(member: int, meeting: Meeting) -> None:
        if member == failing:
            raise MemoryError("no room")
        assert not meet(meeting, 2)
        left.set()

    with cpu.team(2) as team, pytest.raises(MemoryError, match="no room"):
        team.together(work)
    assert left.wait(10)


def test_a_meeting_that_was_aborted_holds_nobody() -> None:
    """Whoever comes later does not wait either."""
    meeting = barrier.meeting()
    barrier.abort(meeting)
    assert not meet(meeting, 2)
