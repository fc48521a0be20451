"""A package index on this machine, whose answers a test can spoil."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import threading
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

MEMBER = "demo/writer.py"
BODY = b"def write(): ...\n"


def wheel(members: Mapping[str, bytes]) -> bytes:
    """Return a wheel with these members, stored without compression."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def sdist(top: str, members: Mapping[str, bytes]) -> bytes:
    """Return a .tar.gz with these members below a top folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@dataclass
class _File:
    content: bytes
    digest: str
    cut: int


class FakeIndex:
    """A simple index (PEP 503) and its files, over HTTP.

    Args (attributes that a test sets):
        status: answers in place of a project's page.
        password: "user:word" that every request must bring; "" for none.
        hold: stop in the middle of a file until `go` is set; `held` tells that it stopped.
        downloads: files handed out whole.
    """

    def __init__(self) -> None:
        self.projects: dict[str, dict[str, _File]] = defaultdict(dict)
        self.status: dict[str, int] = {}
        self.password = ""
        self.hold = False
        self.held, self.go = threading.Event(), threading.Event()
        self.downloads = 0
        handler = type("Handler", (_Handler,), {"index": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/simple"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def add(
        self, project: str, name: str, content: bytes, *, digest: str | None = None, cut: int = 0
    ) -> None:
        """List a file.

        Args:
            project: normalised project name.
            name: file name.
            content: what is handed out.
            digest: sha256 that the page promises; None for the right one, "" for none.
            cut: how many times only half of the file is handed out.
        """
        promised = hashlib.sha256(content).hexdigest() if digest is None else digest
        self.projects[project][name] = _File(content, promised, cut)

    def __enter__(self) -> FakeIndex:  # typing has Self from Python 3.11
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering; the port is closed."""
        self.go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    index: ClassVar[FakeIndex]

    def do_GET(self) -> None:
        index = self.index
        proof = "Basic " + base64.b64encode(index.password.encode()).decode()
        if index.password and self.headers.get("Authorization") != proof:
            self.send_error(401)
            return
        kind, project, name = (*self.path.strip("/").split("/"), "", "")[:3]
        if kind == "files":
            self._file(index.projects[project][name])
        elif project in index.status:
            self.send_error(index.status[project])
        elif project in index.projects:
            self._page(project)
        else:
            self.send_error(404)

    def _page(self, project: str) -> None:
        links = [
            f'<a href="/files/{project}/{name}{"#sha256=" if file.digest else ""}{file.digest}">'
            f"{name}</a>"
            for name, file in self.index.projects[project].items()
        ]
        self._answer("text/html", "\n".join(links).encode())

    def _file(self, file: _File) -> None:
        half = len(file.content) // 2
        if file.cut:
            file.cut -= 1
            self._answer("application/zip", file.content[:half], length=len(file.content))
        elif self.index.hold:
            self._answer("application/zip", file.content[:half], length=len(file.content))
            self.wfile.flush()
            self.index.held.set()
            self.index.go.wait()
        else:
            self._answer("application/zip", file.content)
            self.index.downloads += 1

    def _answer(self, kind: str, content: bytes, *, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:  # type: ignore[override]
        """Say nothing."""
