"""A headless Chromium, spoken to over a pipe in its own DevTools protocol: no port, no network, no
package. It ends with the `with` statement that began it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
SECONDS = 20.0  # that an answer may take


def program() -> str | None:
    """Where a Chromium is; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a Chromium. `requests` and `complaints` are those of the page that is open: the
    addresses that it asked for, and its console's errors."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._from = to, answers
        self._buffer = b""
        self._count = 0
        self._session = self._target = ""
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def _begin(self) -> None:
        """A page of its own for every file: nothing of the one before is left."""
        before, self._session = self._session and self._target, ""
        self._target = self.send("Target.createTarget", url="about:blank")["targetId"]
        if before:
            self.send("Target.closeTarget", targetId=before)
        attached = self.send("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.requests, self.complaints = [], []

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its answer."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while True:
            answer = self._receive(end)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def _receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"the browser did not answer within {SECONDS:g} s")
            chunk = os.read(self._from, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("data:"):  # those are part of the page
                self.requests.append(url)
        elif event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", details).get("description", "?"))
        elif event.get("method") == "Runtime.consoleAPICalled":
            if params["type"] in ("error", "warning", "assert"):
                self.complaints.append(str([a.get("value") for a in params["args"]]))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] != "info":
            self.complaints.append(params["entry"]["text"])

    def open(self, path: Path, width: int = 1000, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of that size and wait until its plots are drawn."""
        self._begin()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait(
            "document.readyState === 'complete' && 'drawn' in document.documentElement.dataset"
        )

    def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, code: str, seconds: float = SECONDS) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(code)):
            if time.monotonic() > end:
                raise TimeoutError(f"not true within {seconds:g} s: {code}; {self.complaints}")
            time.sleep(0.05)
        return value

    def move(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", **event)

    def screenshot(self, path: Path | None = None, whole: bool = False) -> bytes:
        """The page as PNG, also written to a file if one is named."""
        image = base64.b64decode(
            self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        )
        if path is not None:
            path.write_bytes(image)
        return image


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, which is removed."""
    path = program()
    assert path is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # it reads commands from descriptor 3 and writes answers to 4
    through = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["/bin/bash", "-c", through, "-", path, *OPTIONS, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out), start_new_session=True,
            env={**os.environ, "HOME": profile, "XDG_CONFIG_HOME": profile},
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Browser(ours_out, ours_in)
        finally:
            os.close(ours_out)
            os.close(ours_in)
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it and what it started: they are a session of their own."""
    kill: Callable[[int], None] = lambda how: os.killpg(process.pid, how)  # noqa: E731
    with contextlib.suppress(ProcessLookupError):
        kill(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(ProcessLookupError):
        kill(signal.SIGKILL)
    process.wait(5)
