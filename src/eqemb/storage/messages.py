"""Messages between our own processes: pickles on a pipe, each preceded by its length."""

import pickle
import struct
from typing import Any, BinaryIO

#: The length of a message, which precedes it.
MESSAGE_LENGTH = struct.Struct("<Q")


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
    head = stream.read(MESSAGE_LENGTH.size)
    if len(head) < MESSAGE_LENGTH.size:
        raise EOFError
    (size,) = MESSAGE_LENGTH.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return unpack_message(data)
