"""How a service is found, authenticated, and found again."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from services import RunningService

import tollgate as tg


@pytest.fixture
def token(service: RunningService, tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(service.run("token", "new"))
    return file


def test_key_is_checked_before_the_token_is_sent(service: RunningService, token: Path) -> None:
    client = tg.Client(url=service.url, fingerprint=service.fingerprint, token_file=token)
    assert client.status().pid == service.process.pid
    colons = ":".join(service.fingerprint[7:][at : at + 2] for at in range(0, 64, 2))
    assert tg.Client(url=service.url, fingerprint=f"sha256:{colons}", token_file=token).status().nodes
    with pytest.raises(tg.ConnectionLost, match="another key"):
        tg.Client(url=service.url, fingerprint="sha256:" + "0" * 64, token_file=token)


def test_job_gets_the_path_of_the_token(service: RunningService, token: Path) -> None:
    client = tg.Client(url=service.url, fingerprint=service.fingerprint, token_file=os.path.relpath(token))
    submitted = client.submit(["sh", "-c", "echo $TOLLGATE_TOKEN_FILE"], dir=token.parent)
    submitted.wait(60)
    assert client.output(submitted.id) == f"{token}\n"


def test_authorities_vouch_for_the_name(service: RunningService, token: Path) -> None:
    own = service.data / "server.crt"
    assert tg.Client(url=service.url, ca=own, token_file=token).status().pid == service.process.pid
    port = service.url.rpartition(":")[2]
    with pytest.raises(tg.ConnectionLost):
        tg.Client(url=f"https://127.0.0.2:{port}", ca=own, token_file=token)


def test_token_is_needed_and_private(service: RunningService, token: Path) -> None:
    with pytest.raises(tg.ServiceError) as nameless:
        tg.Client(url=service.url, fingerprint=service.fingerprint).status()
    assert nameless.value.status == 401
    token.chmod(0o640)
    with pytest.raises(tg.ArgumentError, match="found mode 640") as open_file:
        tg.Client(url=service.url, fingerprint=service.fingerprint, token_file=token)
    assert open_file.value.hint == "take the rights away with `chmod go=`"


def test_environment_and_clusters_name_the_service(
    service: RunningService, token: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOLLGATE_URL", service.url)
    monkeypatch.setenv("TOLLGATE_FINGERPRINT", service.fingerprint)
    monkeypatch.setenv("TOLLGATE_TOKEN_FILE", str(token))
    assert repr(tg.Client()) == f"<Client of {service.url.removeprefix('https://')}>"
    assert tg.Client().status().pid == service.process.pid
    # An argument goes before the environment.
    assert repr(tg.Client(data=service.data)) == f"<Client of {service.data}/socket>"
    monkeypatch.delenv("TOLLGATE_URL")
    monkeypatch.delenv("TOLLGATE_DATA", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "tollgate").symlink_to(service.data)
    assert repr(tg.Client()) == f"<Client of {tmp_path}/tollgate/socket>"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with pytest.raises(tg.ArgumentError, match="no such cluster: north"):
        tg.Client(cluster="north")
    north = ["--url", service.url, "--fingerprint", service.fingerprint, "--token-file", token]
    service.run("cluster", "add", "north", *north)
    service.run("cluster", "add", "south", "--data", service.data)
    assert tg.Client(cluster="north").status().pid == tg.Client(cluster="south").status().pid == service.process.pid


def test_addresses_that_name_no_service_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOLLGATE_FINGERPRINT", raising=False)
    monkeypatch.delenv("TOLLGATE_CA", raising=False)
    with pytest.raises(tg.ConnectionLost, match="no service answers") as nobody:
        tg.Client(data=tmp_path)
    assert nobody.value.hint is not None and "tollgate serve" in nobody.value.hint
    for url in ("http://host", "https://", "https://user@host", "https://host/path", "host:8443", "https://host:port"):
        with pytest.raises(tg.ArgumentError, match="expected a URL"):
            tg.Client(url=url, fingerprint="sha256:" + "0" * 64)
    with pytest.raises(tg.ArgumentError, match="cannot be authenticated"):
        tg.Client(url="https://host")
    with pytest.raises(tg.ArgumentError, match="64 hexadecimal digits"):
        tg.Client(url="https://host", fingerprint="sha256:00")
    with pytest.raises(tg.ArgumentError, match="expected url beside it"):
        tg.Client(data=tmp_path, ca=tmp_path)
    with pytest.raises(tg.ArgumentError, match="expected one address"):
        tg.Client(data=tmp_path, url="https://host")


class LosesAnswers:
    """A socket before that of a service, which closes the connection in place of the first answers."""

    def __init__(self, socket_of_service: Path, folder: Path, losses: int) -> None:
        self.target = str(socket_of_service)
        self.losses = losses
        self.requests: list[bytes] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "socket"))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                ours, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(ours,), daemon=True).start()

    def serve(self, ours: socket.socket) -> None:
        with ours, socket.socket(socket.AF_UNIX) as theirs:
            theirs.connect(self.target)
            while request := ours.recv(1 << 20):
                self.requests.append(request)
                theirs.sendall(request)
                if b"content-length: 0" not in request.lower() and request.endswith(b"\r\n\r\n") and b"POST" in request:
                    body = ours.recv(1 << 20)
                    theirs.sendall(body)
                answer = theirs.recv(1 << 20)
                if self.losses > 0 and b"POST /v1/jobs" in request:
                    self.losses -= 1
                    return
                ours.sendall(answer)


@pytest.fixture
def loses_answers(service: RunningService, tmp_path: Path) -> Iterator[Callable[[int], LosesAnswers]]:
    made: list[LosesAnswers] = []

    def make(losses: int) -> LosesAnswers:
        made.append(LosesAnswers(service.data / "socket", tmp_path, losses))
        return made[-1]

    yield make
    for one in made:
        one.listener.close()


def test_lost_answers_submit_once(client: tg.Client, loses_answers: Callable[[int], LosesAnswers], tmp_path: Path) -> None:
    proxy = loses_answers(2)
    submitted = tg.Client(data=tmp_path).submit(["true"], name="submitted-once")
    sent = [request for request in proxy.requests if b"POST /v1/jobs" in request]
    assert len(sent) == 3
    assert [job.id for job in client.jobs(name="submitted-once")] == [submitted.id]


def test_lost_connection_is_an_error_in_the_end(
    client: tg.Client, loses_answers: Callable[[int], LosesAnswers], tmp_path: Path
) -> None:
    loses_answers(1_000)
    with pytest.raises(tg.ConnectionLost, match="did not answer again within 0.3 s"):
        tg.Client(data=tmp_path, reconnect=0.3).submit(["true"])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_process_has_connections_of_its_own(client: tg.Client) -> None:
    client.status()
    child = os.fork()
    if child == 0:
        os._exit(0 if client.status().nodes else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.status().nodes


def test_service_that_was_killed_is_waited_for(tmp_path: Path) -> None:
    running = RunningService(tmp_path)
    try:
        client = tg.Client(data=tmp_path)
        submitted = client.submit(["sleep", "1"], dir=tmp_path)
        ended: list[str] = []
        waiting = threading.Thread(target=lambda: ended.append(client.wait(submitted.id).state))
        waiting.start()
        running.kill()
        running.start()
        waiting.join()
        assert ended == ["finished"]
        assert [job.id for job in client.jobs()] == [submitted.id]
    finally:
        running.process.terminate()
        running.process.wait()
