"""A worker process of the server: answers one request at a time until its parent ends.

`processes.ProcessPool` starts it. It reads requests from stdin and writes responses to stdout. A
request is a path and a query string, for agents also a body; its response, with status, headers and
body, comes from the same application as in the front process, so that both give the same bytes.
When stdin ends the process ends at once, even in the middle of an answer: it never outlives its
parent.
"""

import asyncio
import gc
import os
import sys
import threading
from contextlib import AsyncExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from eqemb.server.app import add_agents, make_answering_app
from eqemb.server.processes import WorkerRequest, WorkerResponse
from eqemb.server.workers import WorkerPool
from eqemb.storage.messages import receive, send, take_stdout


async def respond(app: ASGIApp, request: WorkerRequest) -> WorkerResponse:
    """Return the response of an application to a request."""
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET" if request.body is None else "POST",
        "scheme": "http",
        "path": request.path,
        "query_string": request.query,
        "root_path": "",
        "headers": list(request.headers),
        "client": None,
        "server": ("localhost", 80),
    }
    head: dict[str, Any] = {}
    body = bytearray()

    async def receive_body() -> Message:
        return {"type": "http.request", "body": request.body or b"", "more_body": False}

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            head.update(message)
        else:
            body.extend(message.get("body", b""))

    try:
        await app(scope, receive_body, collect)
    except Exception:
        if not head:  # otherwise it was logged, and answered with the status 500
            raise
    return WorkerResponse(head["status"], list(head["headers"]), bytes(body))


def _read_requests(stream: BinaryIO, requests: "SimpleQueue[WorkerRequest | str]") -> None:
    """Put requests into a queue; end the process when the parent closes its end."""
    try:
        while True:
            requests.put(receive(stream))
    except (EOFError, OSError):
        os._exit(0)


def main() -> None:
    """Receive the folder and the snippets setting, send "ready", then answer requests."""
    source, target = sys.stdin.buffer, take_stdout()
    folder, snippets = receive(source)
    requests: SimpleQueue[WorkerRequest | str] = SimpleQueue()
    threading.Thread(target=_read_requests, args=(source, requests), daemon=True).start()
    pool = WorkerPool(Path(folder), snippets=snippets, threads=0)
    app = make_answering_app(pool, cache_bytes=0)  # the front process caches responses
    pool.warm_up()
    gc.collect()
    gc.freeze()  # what is loaded by now stays: later collections need not visit it
    asyncio.run(_answer(app, pool, requests, target))


async def _answer(
    app: FastAPI, pool: WorkerPool, requests: "SimpleQueue[WorkerRequest | str]", target: BinaryIO
) -> None:
    """Send "ready", then the response to each request."""
    send(target, "ready")
    async with AsyncExitStack() as stack:
        while True:
            # Waiting here stops the event loop, which has nothing else to do. `Runner.run` for each
            # request would set a signal handler, for which Python writes out the whole last
            # response.
            request = requests.get()
            if isinstance(request, str):  # PREPARE_AGENTS
                await stack.enter_async_context(add_agents(app, pool))
                send(target, "ready")
            else:
                send(target, await respond(app, request))


if __name__ == "__main__":
    try:
        main()
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        os._exit(0)
