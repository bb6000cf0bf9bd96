"""Messages between processes: whole ones, of plain values, with nothing in between."""

import io
import subprocess
import sys
from fractions import Fraction

import pytest

from eqemb.storage.messages import MessageError, pack_message, receive, receive_values

PRINTS = """
import os
from eqemb.storage.messages import send, take_stdout
results = take_stdout()
print("by Python")
os.write(1, b"by a library")
send(results, ("a", 1))
"""


def test_what_a_process_prints_is_no_message() -> None:
    """It goes to stderr, also if it is not Python that prints."""
    done = subprocess.run([sys.executable, "-P", "-c", PRINTS], check=True, capture_output=True)
    stream = io.BytesIO(done.stdout)
    assert receive(stream) == ("a", 1)
    assert stream.read() == b""
    assert b"by a library" in done.stderr
    assert b"by Python" in done.stderr


def test_a_message_that_ends_early_is_the_end() -> None:
    """The process died while it wrote."""
    whole = pack_message("text")
    for size in (0, 3, len(whole) - 1):
        with pytest.raises(EOFError):
            receive(io.BytesIO(whole[:size]))


def test_plain_values_refer_to_no_class() -> None:
    """Those of a process that reads papers; looking up a class can run code."""
    assert receive_values(io.BytesIO(pack_message(("a", 1, None))), 100) == ("a", 1, None)
    with pytest.raises(MessageError, match="Fraction"):
        receive_values(io.BytesIO(pack_message(Fraction(1, 2))), 100)
    with pytest.raises(MessageError, match="bytes"):
        receive_values(io.BytesIO(pack_message("a" * 200)), 100)
