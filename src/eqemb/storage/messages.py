"""Messages between our own processes: pickles on a pipe, each preceded by its length.

A pickle can run code where it is received. `receive_values` is for what a confined process sends:
it accepts values of Python's own types alone, such as tuples, text and numbers.
"""

import contextlib
import io
import os
import pickle
import struct
import sys
from typing import Any, BinaryIO, NoReturn

#: The length of a message, which precedes it.
MESSAGE_LENGTH = struct.Struct("<Q")


class MessageError(Exception):
    """A process sent what it never should; the text says what."""


class _ValueUnpickler(pickle.Unpickler):
    """Unpickles values of Python's own types, for which no name has to be looked up."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise MessageError(f"it refers to {module}.{name}")


def take_stdout() -> BinaryIO:
    """Return the pipe of this process for messages.

    What is printed from now on goes to stderr, also what code in C prints: between two messages it
    would be taken for one.
    """
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with contextlib.suppress(OSError, AttributeError):  # there is no stderr
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return own


def pack_message(message: Any) -> bytes:
    """Return a message with its length, as it is sent."""
    data = pickle.dumps(message, protocol=5)
    return MESSAGE_LENGTH.pack(len(data)) + data


def unpack_message(data: bytes) -> Any:
    """Return the message that the bytes after its length hold."""
    return pickle.loads(data)  # noqa: S301 - sent by our own process


def send(stream: BinaryIO, message: Any) -> None:
    """Send one message."""
    stream.write(pack_message(message))
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Receive one message; raise `EOFError` if the stream ends, even within a message."""
    return unpack_message(_read(stream, _read_length(stream)))


def receive_values(stream: BinaryIO, most: int) -> Any:
    """Receive values of Python's own types from a process that is not trusted.

    Raise `EOFError` if the stream ends, and `MessageError` for any other message, and for one of
    more than `most` bytes.
    """
    size = _read_length(stream)
    if size > most:
        raise MessageError(f"it has {size:,} bytes")
    data = _read(stream, size)
    try:
        return _ValueUnpickler(io.BytesIO(data)).load()
    except MessageError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged pickles raise errors of many kinds
        raise MessageError(f"{type(error).__name__}: {error}"[:100]) from None


def _read_length(stream: BinaryIO) -> int:
    size: int = MESSAGE_LENGTH.unpack(_read(stream, MESSAGE_LENGTH.size))[0]
    return size


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
