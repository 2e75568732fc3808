"""A headless Chromium, driven over a pipe: opens a page and tells what happened in it. Needs no other package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Chromium", "chromium_path"]

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_SECONDS = 60
# Containers allow no user namespaces and have a small /dev/shm.
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip


def chromium_path() -> str | None:
    """The browser of this machine; None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Chromium:
    """One browser with one page. `problems` are errors of the console, refused loads and broken scripts."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="cachesafe-chromium-")
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        self._buffer = b""
        self._last = 0
        self.problems: list[str] = []
        self._events: list[dict[str, Any]] = []

        def wire() -> None:
            # The browser reads commands from descriptor 3 and writes to 4.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [path, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=wire,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the page."""
        return self._call(method, parameters, self._session)

    def open(self, page: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a file at a size."""
        self.problems.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.scheme(dark=dark)
        self._events.clear()
        self.call("Page.navigate", url=page.as_uri())
        self._wait("Page.loadEventFired")

    def scheme(self, *, dark: bool) -> None:
        """What the user prefers."""
        wanted = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[wanted])

    def evaluate(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(json.dumps(done["exceptionDetails"])[:2000])
        return done["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """One key, down and up."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, target: Path, *, clip: dict[str, float] | None = None) -> None:
        """A PNG of what is seen, or of a rectangle of the page."""
        more: dict[str, Any] = {} if clip is None else {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        target.write_bytes(base64.b64decode(data))

    def _call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found

    def _wait(self, event: str) -> None:
        while all(one["method"] != event for one in self._events):
            self._read()

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + _SECONDS
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], max(end - time.monotonic(), 0))[0]:
                raise AssertionError("the browser does not answer")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise AssertionError("the browser is gone")
            self._buffer += data
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        if "method" in message:
            self._events.append(message)
            self._note(message["method"], message["params"])
        return message

    def _note(self, event: str, given: dict[str, Any]) -> None:
        if event == "Runtime.consoleAPICalled":
            self.problems.append(f"console: {json.dumps(given['args'])[:500]}")
        elif event == "Runtime.exceptionThrown":
            self.problems.append(f"script: {json.dumps(given['exceptionDetails'])[:500]}")
        elif event == "Log.entryAdded":
            self.problems.append(f"log: {given['entry'].get('text')}")
        elif event == "Network.requestWillBeSent" and given.get("type") != "Document":
            self.problems.append(f"load: {given['request']['url'][:200]}")

    def close(self) -> None:
        """End the browser."""
        os.close(self._to)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
