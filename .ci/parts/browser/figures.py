"""Measures the window: figures.py PROGRAM CHROMIUM FOLDER.

It prints how long the first page takes with 200 live jobs, how long a change of a job takes to be seen, the size of what a
browser loads once, and the processor time of open pages. Times are printed and not checked: they depend on the host and on
how PROGRAM was built.
"""

import gzip
import http.client
import json
import os
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import expect

from session import base_of, browser, open_window, visit
from stage import Stage

#: Jobs that run or wait, and how often each time is measured.
LIVE, TIMES = 200, 15
#: Greatest size of script and style together, compressed, in bytes.
MOST_BYTES = 12_000
#: Accounts that every Debian has, and nobody works as.
USERS = ["daemon", "bin", "sys", "games", "man", "lp", "mail", "news"]
#: Events a second of all users together, and the seconds that processor time is measured for.
EVENTS_PER_S, MEASURED_S = 10, 20

#: Notes when the page has its first part.
FIRST_PART = """
new MutationObserver((_, observer) => {
  if (!document.getElementById("now-facts")) return;
  observer.disconnect();
  requestAnimationFrame(() => { window.firstPart = performance.now(); });
}).observe(document, { childList: true, subtree: true });
"""
#: Changes a job, and returns the time from the answer to the frame that shows the change, in milliseconds.
CHANGE = """
async ([job, action, words]) => {
  const row = () => [...document.querySelectorAll("tr")].find((row) => row.querySelector(`a[href="job?id=${job}"]`));
  const seen = new Promise((done) => {
    const look = () => row()?.textContent.includes(words) && (observer.disconnect(), requestAnimationFrame(() => done(performance.now())));
    const observer = new MutationObserver(look);
    observer.observe(document.getElementById("main"), { childList: true, subtree: true });
  });
  const headers = { authorization: `Bearer ${sessionStorage.getItem("tollgate-session")}`, "content-type": "application/json" };
  await fetch(`v1/jobs/${job}/${action}`, { method: "POST", headers, body: "{}" });
  const answered = performance.now();
  return await seen - answered;
}
"""


class UnixConnection(http.client.HTTPConnection):
    """A connection to the socket of a service."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def spread_of(times):
    return f"median {statistics.median(times):.0f} ms, from {min(times):.0f} to {max(times):.0f} ms"


def processor_s(pid):
    """Returns the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def part_of_core(pids, seconds):
    """Returns the part of a core that processes take for some seconds, in per cent."""
    began, before = time.monotonic(), sum(map(processor_s, pids))
    time.sleep(seconds)
    return 100 * (sum(map(processor_s, pids)) - before) / (time.monotonic() - began)


def measure_pages(program, chrome, folder):
    """The first page, a change, the sizes, and a page that is left alone: by `tollgate open` before a service of its user."""
    stage = Stage(program, folder)
    try:
        stage.serve()
        lines = stage.folder / "lines"
        lines.write_text("".join(f"sleep {n}\n" for n in range(600, 600 + LIVE)))
        stage.call("submit", "--quiet", "--estimate", "12m", "--deadline", "+40h", "--each-line", str(lines))
        name, link = stage.open()
        context = chrome.new_context()
        page = open_window(context, link)
        page.add_init_script(FIRST_PART)
        times = []
        for _ in range(TIMES):
            page.goto(f"{base_of(link)}/now")
            page.wait_for_selector("#now-facts")
            page.wait_for_timeout(100)
            times.append(page.evaluate("window.firstPart"))
        print(f"first page with {LIVE} live jobs: {spread_of(times)}", flush=True)
        job = stage.call("submit", "--quiet", "--estimate", "1m", "--hold", "--", "true").stdout.strip()
        visit(page, base_of(link), "jobs")
        expect(page.locator(f"a[href='job?id={job}']")).to_be_visible()
        times = []
        for _ in range(TIMES):
            for action, words in [("release", "queued"), ("hold", "held")]:
                page.wait_for_timeout(400)
                times.append(page.evaluate(CHANGE, [job, action, words]))
        print(f"from an answer to its picture: {spread_of(times)}", flush=True)
        sizes = {}
        for asset in ["window.js", "style.css"]:
            content = urllib.request.urlopen(f"{base_of(link)}/ui/{asset}").read()
            sizes[asset] = len(gzip.compress(content))
        print(f"script and style compressed: {sizes}, together {sum(sizes.values())} bytes", flush=True)
        assert sum(sizes.values()) <= MOST_BYTES, sizes
        visit(page, base_of(link), "now")
        pids = [stage.processes[each].pid for each in ["service", name]]
        with_page = part_of_core(pids, MEASURED_S)
        context.close()
        time.sleep(2)
        print(f"a page that is left alone: {with_page:.1f} % of a core, without it {part_of_core(pids, MEASURED_S):.1f} %", flush=True)
    finally:
        stage.end()


def send_events(data, jobs, stopped):
    """Holds and releases jobs in turn, as their operator, so that each change is an event."""
    connection = UnixConnection(data / "socket")
    turn = 0
    while not stopped.wait(1 / EVENTS_PER_S):
        job, action = jobs[turn % len(jobs)], ["release", "hold"][turn // len(jobs) % 2]
        connection.request("POST", f"/v1/jobs/{job}/{action}", "{}", {"content-type": "application/json"})
        connection.getresponse().read()
        turn += 1


def measure_users(program, chrome):
    """Pages of eight users before the window of one service, while their jobs change."""
    open_folder = Path(tempfile.mkdtemp())
    open_folder.chmod(0o755)
    settings = f'users = "all"\naccount = "root"\nsystem_users = {json.dumps(USERS)}\n[local]\nnodes = 1\n[web]\naddress = "127.0.0.1:0"\n'
    stage = Stage(shutil.copy(program, open_folder), open_folder / "users", settings)
    stopped = threading.Event()
    try:
        stage.serve()
        # The only node is busy, so that a job that is released waits.
        stage.call("submit", "--quiet", "--estimate", "2h", "--", "sleep", "7200", user=USERS[0])
        jobs = [stage.call("submit", "--quiet", "--hold", "--estimate", "1h", "--", "true", user=user).stdout.strip() for user in USERS]
        sender = threading.Thread(target=send_events, args=(stage.data, jobs, stopped))
        sender.start()
        pid = [stage.processes["service"].pid]
        without = part_of_core(pid, MEASURED_S)
        contexts = [chrome.new_context() for _ in USERS]
        for user, context in zip(USERS, contexts):
            page = open_window(context, stage.served_link(user=user))
            visit(page, base_of(page.url), "now")
        with_pages = part_of_core(pid, MEASURED_S)
        for context in contexts:
            context.close()
        print(f"{len(USERS)} pages of {len(USERS)} users at {EVENTS_PER_S} events a second: the service takes {with_pages:.1f} % of a core, "
              f"without pages {without:.1f} %", flush=True)
    finally:
        stopped.set()
        stage.end()
        shutil.rmtree(open_folder)


def main(program, chromium, folder):
    with browser(chromium) as chrome:
        measure_pages(program, chrome, folder)
        if os.getuid() == 0:
            measure_users(program, chrome)
        else:
            print("not run: pages of several users: only root starts a service for all users")


if __name__ == "__main__":
    main(*sys.argv[1:])
