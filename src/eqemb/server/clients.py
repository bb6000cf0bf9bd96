"""Who sent a request, as far as limits are concerned, and how many tokens a client has guessed.

A client is an address. Of an IPv6 address, only the network of 64 bits counts: a machine may use
all addresses of its network.
"""

import hashlib
import ipaddress
import time
from collections.abc import Callable, Iterable

from starlette.types import Scope

from eqemb.errors import UsageError, quoted

#: Different wrong tokens that a client may send in so many seconds.
MAX_GUESSES, GUESS_SECONDS = 10, 60.0
#: Most clients whose guesses are counted; then those that guessed first are forgotten.
_MAX_GUESSERS = 10_000
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def client_of(scope: Scope) -> str:
    """The client of a request."""
    return client_name(scope["client"][0] if scope.get("client") else "")


def client_name(address: str) -> str:
    """The client of an address; text that is no address, from a proxy, names itself."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def networks(addresses: Iterable[str]) -> tuple[Network, ...]:
    """Addresses and networks of reverse proxies; raises `UsageError` for anything else.

    Those of IPv4 come twice: a socket that listens for both kinds of addresses (`::`) reports
    10.0.0.1 as ::ffff:10.0.0.1.
    """
    found: list[Network] = []
    for each in addresses:
        try:
            network = ipaddress.ip_network(each, strict=False)
        except ValueError:
            raise UsageError(
                "the proxy must be an IP address or a network such as 10.0.0.0/8, not"
                f" {quoted(each)}"
            ) from None
        found.append(network)
        if isinstance(network, ipaddress.IPv4Network):
            mapped = f"::ffff:{network.network_address}/{96 + network.prefixlen}"
            found.append(ipaddress.IPv6Network(mapped))
    return tuple(found)


class GuessLimiter:
    """Counts the different wrong tokens of each client.

    A program that repeats one wrong token guesses once.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._clients: dict[str, tuple[float, set[bytes]]] = {}

    def add(self, client: str, guess: str) -> bool:
        """Count a wrong token; return whether it is the client's first one in this time."""
        self._forget()
        is_first = client not in self._clients
        _, guesses = self._clients.setdefault(client, (self._now(), set()))
        if len(guesses) < MAX_GUESSES:
            guesses.add(hashlib.sha256(guess.encode("utf-8", "replace")).digest())
        if len(self._clients) > _MAX_GUESSERS:
            del self._clients[next(iter(self._clients))]
        return is_first

    def seconds_left(self, client: str) -> int:
        """For how many seconds a client may not send another token; 0 if it may."""
        self._forget()
        start, guesses = self._clients.get(client, (0.0, ()))
        if len(guesses) < MAX_GUESSES:
            return 0
        return max(1, round(start + GUESS_SECONDS - self._now()))

    def _forget(self) -> None:
        """Forget clients whose time is over; those that guessed first come first."""
        limit = self._now() - GUESS_SECONDS
        while self._clients:
            client, (start, _) = next(iter(self._clients.items()))
            if start > limit:
                return
            del self._clients[client]
