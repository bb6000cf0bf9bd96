"""The parts of a library as deployments of Ray Serve, on one machine or many.

Each part is a deployment of its own, with replicas. A replica answers one question at a time
(`facade.parts.LibraryPart`). The front process asks all parts at once and waits until a deadline:

* A question whose replica dies is asked again; Serve gives it to another replica.
* A part that fails even so is left out of the answer, and of the next ones, until it answers a
  probe. Serve restarts its replicas meanwhile.

A question names the generation of the library that it is about. A replica that has another one
opens that, and keeps the latest two: while a library changes, requests for both are answered.
"""

import asyncio
import contextlib
import logging
import os
import re
import threading
import time
import uuid
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from eqemb.errors import UsageError, quoted
from eqemb.facade.parts import LibraryPart, PartPlace, PartsLibrary, part_places
from eqemb.index.statistics import LibraryStatistics, library_statistics
from eqemb.library import ray_connection
from eqemb.library.engines import LOCAL, RAY, check_port
from eqemb.search.parts import PartAnswer, PartQuestion
from eqemb.server.workers import TIME_LIMIT

_log = logging.getLogger("eqemb.server")
#: How an engine starts that is the address of a cluster.
CLUSTER = "ray://"
#: Where the head of a cluster listens, unless the address says.
_HEAD_PORT = 6379
#: The share of the time limit of an answer within which a part must answer. What is left is for the
#: answers of the other parts to further questions, and for merging them.
PART_SHARE = 0.6
#: Seconds for another attempt after a replica died; until a probe of a part is given up.
RETRY_DEADLINE, PROBE_DEADLINE = 3.0, 8.0
#: Seconds between probes of a part that does not answer; until the parts have started and ended.
PROBE_INTERVAL, DEPLOY_TIMEOUT, CLOSE_TIMEOUT = 0.3, 180.0, 20.0
#: Generations that a replica keeps open, seconds for which the numbers of replicas are remembered.
KEPT_GENERATIONS, STATUS_SECONDS = 2, 1.0
#: The least time that Serve takes between health checks, and until a replica counts as dead.
_HEALTH = {"health_check_period_s": 1.0, "health_check_timeout_s": 10.0}
#: Serve runs our code in the main loop of a replica, without threads: a question is not shared.
_SETTINGS = {"RAY_SERVE_THROUGHPUT_OPTIMIZED": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

T = TypeVar("T")


class PartStatus(NamedTuple):
    """How a part is doing."""

    part: int
    """From 1."""
    segments: int
    replicas: int
    """Those that run."""
    wanted: int
    answers: bool


class PartReplica:
    """What a replica runs: answers the questions of one part."""

    def __init__(self, place: PartPlace, statistics: list[Any]) -> None:
        """`statistics` has a reference to them, in a list so that Ray does not resolve it."""
        self._open: dict[PartPlace, LibraryPart] = {}
        self._part(place, statistics)

    def _part(self, place: PartPlace, statistics: list[Any]) -> LibraryPart:
        if place not in self._open:
            import ray

            found: LibraryStatistics = ray.get(statistics[0])
            part = LibraryPart.open_at(place, found)
            part.part_engine  # noqa: B018 - opened when it is first used
            while len(self._open) >= KEPT_GENERATIONS:
                self._open.pop(next(iter(self._open))).close()
            self._open[place] = part
        return self._open[place]

    async def ask(
        self, place: PartPlace, statistics: list[Any], question: PartQuestion
    ) -> PartAnswer:
        """Return the answer of this part, as the library is at `place`."""
        return self._part(place, statistics).answer(question)

    async def pid(self) -> int:
        """Return the id of the process: a sign of life."""
        return os.getpid()


class RayParts:
    """The deployments of the parts of a library; used by all threads of the front process."""

    def __init__(
        self,
        library: PartsLibrary,
        *,
        engine: str,
        parts: int | None,
        replicas: int,
        seconds: float = TIME_LIMIT,
    ) -> None:
        """`engine` is "ray", or the address of a cluster; an answer may take so many `seconds`."""
        self._deadline = seconds * PART_SHARE
        self._ray, self._serve, self._is_ours = connect(engine)
        self._deal = parts or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._replicas = replicas
        self._lock = threading.Lock()
        self._generations: dict[int, GenerationParts] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="eqemb-ray")
        self._thread.start()
        self._down: set[int] = set()
        self._probes: set[asyncio.Task[None]] = set()
        self._replica_counts, self._counted_at = dict[str, int](), float("-inf")
        self._handles: list[Any] = []
        self._names: list[str] = []
        self._prefix = f"eqemb-{uuid.uuid4().hex[:6]}"  # a cluster may serve several libraries
        try:
            self._start(self.of(library))
        except BaseException:
            self.close()
            raise

    @classmethod
    def deploy(
        cls,
        folder: Path,
        engine: str,
        parts: int | None = None,
        replicas: int = 1,
        seconds: float = TIME_LIMIT,
    ) -> "RayParts":
        """Start the parts of a library; by default as many as the cluster has cores."""
        with PartsLibrary.open(folder) as library:
            library.open_segments()  # before Ray is started: this is refused if it has no index
            return cls(library, engine=engine, parts=parts, replicas=replicas, seconds=seconds)

    def open_library(self, folder: Path) -> PartsLibrary:
        """Open the library for a thread of the front process."""
        library = PartsLibrary.open(folder)
        try:
            library.parts = self.of(library)
        except BaseException:
            library.close()
            raise
        return library

    # ------------------------------------------------------------ deployments

    def _start(self, first: "GenerationParts") -> None:
        deployment = self._serve.deployment(
            num_replicas=self._replicas,
            max_ongoing_requests=2,  # the second waits there, so that a replica is never idle
            ray_actor_options={"num_cpus": 0, "runtime_env": {"env_vars": _replica_environment()}},
            graceful_shutdown_timeout_s=0.5,
            **_HEALTH,
        )(PartReplica)
        quiet = {"log_level": "ERROR", "enable_access_log": False}
        self._names = [f"{self._prefix}-{number + 1}" for number in range(len(first))]
        self._serve.run_many(
            [
                self._serve.RunTarget(
                    deployment.options(name=name).bind(place, first.statistics),
                    name=name,
                    route_prefix=None,
                    logging_config=quiet,
                )
                for name, place in zip(self._names, first.places, strict=True)
            ],
            wait_for_applications_running=False,
        )
        for name in self._names:
            self._wait_for(name)
        self._handles = self._call(self._make_handles(), DEPLOY_TIMEOUT)

    def _wait_for(self, name: str) -> None:
        end = time.monotonic() + DEPLOY_TIMEOUT
        while True:
            app = self._serve.status().applications[name]
            if app.status == "RUNNING":
                return
            if app.status == "DEPLOY_FAILED" or time.monotonic() > end:
                reason = str(app.message).strip().rpartition("\n")[2]
                raise UsageError(
                    f"Ray Serve could not start {name} ({app.status}: {reason}): every machine of"
                    " the cluster needs eqemb and must see the library at the same path"
                )
            time.sleep(0.1)

    async def _make_handles(self) -> list[Any]:
        handles = [self._serve.get_app_handle(name) for name in self._names]
        for handle in handles:
            # requests are routed in our loop: another one costs 4 ms more for two parts
            handle._init(_run_router_in_separate_loop=False)  # noqa: SLF001
        return handles

    def of(self, library: PartsLibrary) -> "GenerationParts":
        """Return the parts of an open library; its statistics are computed once."""
        number = int(library.generation.name)
        with self._lock:
            if number not in self._generations:
                index = library.whole_index
                statistics = self._ray.put(library_statistics(index))
                places = part_places(library, index, self._deal)
                if self._handles:  # as many deployments as there were at the start
                    places = part_places(library, index, min(self._deal, len(self._handles)))
                while len(self._generations) >= KEPT_GENERATIONS:
                    del self._generations[next(iter(self._generations))]
                self._generations[number] = GenerationParts(self, places, [statistics])
            return self._generations[number]

    # ------------------------------------------------------------ questions

    def ask_all(
        self, places: list[PartPlace], statistics: list[Any], question: PartQuestion
    ) -> list[PartAnswer | None]:
        """Return the answer of every part, None where a part does not answer in time."""
        return self._call(self._ask_all(places, statistics, question), self._deadline + 2)

    async def _ask_all(
        self, places: list[PartPlace], statistics: list[Any], question: PartQuestion
    ) -> list[PartAnswer | None]:
        return await asyncio.gather(
            *(
                self._ask_one(number, place, statistics, question)
                for number, place in enumerate(places)
            )
        )

    async def _ask_one(
        self, number: int, place: PartPlace, statistics: list[Any], question: PartQuestion
    ) -> PartAnswer | None:
        if number in self._down:
            return None
        handle, seconds = self._handles[number], self._deadline
        end = time.monotonic() + seconds
        reason: BaseException | None = None
        while (left := min(seconds, end - time.monotonic())) > 0:
            try:
                async with asyncio.timeout(left):
                    found: PartAnswer = await handle.ask.remote(place, statistics, question)
                    return found
            except TimeoutError as error:
                reason = error
                break
            except self._ray.exceptions.RayTaskError as error:  # it answered with an exception
                _log.warning("part %d cannot answer: %s", number + 1, _last_line(error))
                return None
            except self._ray.exceptions.RayError as error:  # the replica died
                reason, seconds = error, RETRY_DEADLINE
                _log.warning("a replica of part %d ended: asking another one", number + 1)
                await asyncio.sleep(0.02)
            except Exception as error:  # noqa: BLE001 - Serve has errors of its own
                reason, seconds = error, RETRY_DEADLINE
                await asyncio.sleep(0.1)
        self._set_down(number, reason)
        return None

    def _set_down(self, number: int, reason: BaseException | None) -> None:
        if number not in self._down:
            _log.warning("part %d does not answer (%s)", number + 1, type(reason).__name__)
            self._down.add(number)
            task = self._loop.create_task(self._probe(number))
            self._probes.add(task)
            task.add_done_callback(self._probes.discard)

    async def _probe(self, number: int) -> None:
        """Wait until a part answers again."""
        while True:
            await asyncio.sleep(PROBE_INTERVAL)
            with contextlib.suppress(Exception):
                async with asyncio.timeout(PROBE_DEADLINE):
                    await self._handles[number].pid.remote()
                self._down.discard(number)
                _log.warning("part %d answers again", number + 1)
                return

    def _call(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run a coroutine in our loop, from another thread."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except FutureTimeoutError:
            future.cancel()
            raise

    # ------------------------------------------------------------ status

    def status(self) -> list[PartStatus]:
        """Return how the parts are doing; one without a replica does not answer."""
        with self._lock:
            latest = self._generations[max(self._generations)]
            if time.monotonic() > self._counted_at + STATUS_SECONDS:
                self._replica_counts = self._count_replicas()
                self._counted_at = time.monotonic()
            counts = self._replica_counts
        found = []
        for number, place in enumerate(latest.places):
            running = counts.get(self._names[number], 0)
            answers = running > 0 and number not in self._down
            found.append(PartStatus(number + 1, place.segments, running, self._replicas, answers))
        return found

    def _count_replicas(self) -> dict[str, int]:
        try:
            found = self._serve.status().applications
        except Exception as error:  # noqa: BLE001 - the cluster may be gone
            _log.warning("Ray Serve has no status: %s", error)
            return self._replica_counts
        return {
            name: sum(
                count
                for deployment in app.deployments.values()
                for state, count in deployment.replica_states.items()
                if state == "RUNNING"
            )
            for name, app in found.items()
        }

    def close(self) -> None:
        """End the deployments, and Ray if it was started here."""
        with contextlib.suppress(Exception):
            self._call(self._shut_down(), CLOSE_TIMEOUT)
        for name in [] if self._is_ours else self._names:  # others may use the cluster
            with contextlib.suppress(Exception):
                self._serve.delete(name)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._ray.shutdown()

    async def _shut_down(self) -> None:
        for task in list(self._probes):
            task.cancel()
        for handle in self._handles:
            await handle.shutdown_async()


class GenerationParts:
    """The parts of one generation of a library."""

    def __init__(self, parts: RayParts, places: list[PartPlace], statistics: list[Any]) -> None:
        self._parts, self.places, self.statistics = parts, places, statistics

    def __len__(self) -> int:
        return len(self.places)

    def ask(self, question: PartQuestion) -> list[PartAnswer | None]:
        """Return the answer of every part, None where a part does not answer."""
        return self._parts.ask_all(self.places, self.statistics, question)


def connect(engine: str) -> tuple[Any, Any, bool]:
    """Connect to Ray; return its modules `ray` and `ray.serve`, and whether it was started here."""
    os.environ.update({name: os.environ.get(name, value) for name, value in _SETTINGS.items()})
    try:
        import ray
        from ray import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--engine {engine} needs Ray Serve ({error.name} is missing):"
            " pip install 'eqemb[ray-serve]'"
        ) from None
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    address = None if engine == RAY else _address(engine)
    is_ours = ray_connection.connect(ray, address, namespace="eqemb")
    try:
        serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
    except Exception as error:  # noqa: BLE001 - Ray raises the class itself on a busy machine
        raise UsageError(f"Ray Serve does not start ({ray_connection.reason(error)})") from None
    return ray, serve, is_ours


def check_engine(engine: str, parts: int | None = None, replicas: int = 1) -> None:
    """Refuse an engine that does not exist, and parts or replicas without Ray."""
    if engine == LOCAL and (parts is not None or replicas != 1):
        raise UsageError("--parts and --replicas need Ray: add --engine ray, or leave them out")
    if engine not in (LOCAL, RAY) and not engine.startswith(CLUSTER):
        raise UsageError(f"the engine must be local, ray or ray://HOST, not {quoted(engine)}")
    if engine.startswith(CLUSTER):
        host, _, port = _address(engine).rpartition(":")
        if not host or not re.fullmatch("[0-9]{1,100}", port):
            raise UsageError(
                f"the engine must be local, ray or ray://HOST:PORT, not {quoted(engine)}"
            )
        check_port(engine, int(port))


def _address(engine: str) -> str:
    """Return the address of the head of a cluster: ray://HOST as HOST:6379."""
    host = engine.removeprefix(CLUSTER).rstrip("/")
    return host if ":" in host else f"{host}:{_HEAD_PORT}"


def _replica_environment() -> dict[str, str]:
    """Environment variables of replicas: one thread each, as the cores are shared."""
    return {"OPENBLAS_NUM_THREADS": "1", **_SETTINGS}


def _last_line(error: BaseException) -> str:
    return str(error).strip().rpartition("\n")[2]
