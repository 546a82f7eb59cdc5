"""The built service, as its users run it, and the means to disturb its connections."""

from __future__ import annotations

import asyncio
import functools
import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import websockets

from quotebook import Account, Client, Timeouts
from quotebook.signing import keccak256

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "test" / "vectors"
START_SECONDS = 120
#: Of a thing that has to happen at some time; the machine may be busy.
SOON = 60.0
ONE = 10**18


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tap-file", help="writes the results there as TAP, too")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--tap-file")
    if file is not None:
        config.pluginmanager.register(TapFile(Path(file)))


class TapFile:
    """The form in which the project's check adds up all results."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = ["TAP version 14"]
        self._count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A set-up or a tear-down has a line only when it went wrong.
        if report.when != "call" and report.passed:
            return
        outcome = "not ok" if report.failed else "ok"
        skip = " # SKIP" if report.skipped else ""
        name = report.nodeid.replace("#", "")
        self._count += 1
        self._lines.append(f"{outcome} {self._count} - {name}{skip}")
        if report.failed:
            text = json.dumps(report.longreprtext)
            self._lines += ["  ---", f"  error: {text}", "  ..."]

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("\n".join([*self._lines, f"1..{self._count}", ""]))


def run_async(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 4 * SOON))

    return run


async def until(is_so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + SOON
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


class Service:
    """One local set-up: `start` and `stop` may follow one another."""

    def __init__(self, data: Path, *words: str) -> None:
        self.data = data
        self._words = words
        self._ready_file = data / "ready.json"
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self.ready: dict[str, Any] = {}

    def start(self) -> None:
        words = ["serve", "--profile", "local", "--port", str(self._port), "--data-dir", str(self.data)]
        words += ["--ready-file", str(self._ready_file), "--log-level", "warn", *self._words]
        self._process = subprocess.Popen(["node", "dist/src/cli/quotebook.js", *words], cwd=ROOT)
        deadline = time.monotonic() + START_SECONDS
        while not self._ready_file.exists():
            assert self._process.poll() is None, "the service ended before it was ready (npm run build comes first)"
            assert time.monotonic() < deadline, "the service is not ready"
            time.sleep(0.05)
        self.ready = json.loads(self._ready_file.read_text())

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(START_SECONDS)
        finally:
            if self._process.poll() is None:
                self._process.kill()
            self._process = None
        self._ready_file.unlink(missing_ok=True)

    @property
    def url(self) -> str:
        return str(self.ready["httpUrl"])

    @property
    def maker(self) -> Account:
        return Account(self.ready["accounts"][1]["privateKey"])

    @property
    def taker_account(self) -> Account:
        return Account(self.ready["accounts"][2]["privateKey"])

    @property
    def taker(self) -> str:
        return str(self.ready["accounts"][2]["address"])

    def pool(self, number: int) -> dict[str, Any]:
        return dict(self.ready["pools"][number])

    def client(self, url: str | None = None, api_key: str | None = None, **timeouts: float) -> Client:
        settings = {"reconnect_min": 0.01, "reconnect_max": 0.5, **timeouts}
        key = self.ready["apiKey"] if api_key is None else api_key
        return Client(url or self.url, key, self.ready["chainId"], timeouts=Timeouts(**settings))

    def fill(self, quote: dict[str, Any], size: int) -> None:
        """Takes a part of a quote on the chain, from the taker's unlocked account."""
        selector = keccak256(
            b"fillQuoteOB((address,address,uint256,uint256,bool,uint256,uint256),uint256,(uint8,bytes32,bytes32),address)"
        )[:4]
        fields = (int(quote[name], 16) for name in ("provider", "taker"))
        amounts = (int(quote[name]) for name in ("price", "size", "isBuy", "deadline", "salt"))
        signature = quote["signature"]
        words = [*fields, *amounts, size, signature["v"], int(signature["r"], 16), int(signature["s"], 16), 0]
        data = "0x" + selector.hex() + "".join(f"{word:064x}" for word in words)
        call = {"from": self.taker, "to": quote["poolAddress"], "data": data}
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [call]}
        request = urllib.request.Request(
            self.ready["rpcUrl"], json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=SOON) as answer:
            assert "error" not in json.load(answer)


class Disturber:
    """A link to the service's WebSocket that loses or changes messages, or breaks, as a test wants it."""

    def __init__(self, service: Service) -> None:
        self._target = service.url.replace("http", "ws", 1)
        self.url = ""
        #: Gets each message for the client; returns the frames that the client gets.
        self.change: Callable[[dict[str, Any]], list[Any]] = lambda message: [message]
        #: Messages of clients.
        self.sent: list[dict[str, Any]] = []
        self._sockets: set[Any] = set()

    async def __aenter__(self) -> Disturber:
        self._server = await websockets.serve(
            self._carry, "127.0.0.1", 0, subprotocols=["quotebook.v2.json"], compression=None
        )
        port = next(iter(self._server.sockets)).getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def connections(self) -> int:
        return len(self._sockets)

    async def cut(self) -> None:
        """Breaks all connections."""
        for each in tuple(self._sockets):
            each.transport.abort()

    async def _carry(self, client: Any, _path: str = "") -> None:
        self._sockets.add(client)
        try:
            async with websockets.connect(
                self._target, subprotocols=["quotebook.v2.json"], compression=None, max_size=None
            ) as server:
                up = asyncio.create_task(self._up(client, server))
                down = asyncio.create_task(self._down(client, server))
                await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
                for task in (up, down):
                    task.cancel()
                await asyncio.gather(up, down, return_exceptions=True)
        finally:
            self._sockets.discard(client)

    async def _up(self, client: Any, server: Any) -> None:
        async for frame in client:
            self.sent.append(json.loads(frame))
            await server.send(frame)

    async def _down(self, client: Any, server: Any) -> None:
        async for frame in server:
            for message in self.change(json.loads(frame)):
                await client.send(message if isinstance(message, (str, bytes)) else json.dumps(message))


@contextmanager
def running(data: Path, *words: str) -> Iterator[Service]:
    service = Service(data, *words)
    service.start()
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("quotebook")) as service:
        yield service


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Service]:
    """One that a test may stop and start."""
    with running(tmp_path) as service:
        yield service


@pytest.fixture(scope="session")
def proven_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One that shows what is private only to keys and sessions that have proven the address, and hands out keys."""
    with running(tmp_path_factory.mktemp("proven"), "--privacy", "proven", "--self-service", "yes") as service:
        yield service
