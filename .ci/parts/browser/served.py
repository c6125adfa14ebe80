"""Checks the window that a service serves to its users: served.py PROGRAM CHROMIUM FOLDER.

Two users have it at one address, each with a ticket of their own. Only root can start such a service.
"""

import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

from session import ask, base_of, browser, open_window, origin_of, shown, visit
from stage import Stage

#: Users that every system has, and nobody works as.
USERS = ["daemon", "nobody"]
#: Streams of events that a user may have.
STREAMS = 8
#: Connections of strangers: more than the service keeps (`limits.strangers`).
STRANGERS = 300


def check_users_have_one_window_each(stage, chrome):
    """At one address each user sees their own jobs, also those that are submitted meanwhile."""
    pages = {}
    for user in USERS:
        context = chrome.new_context()
        pages[user] = open_window(context, stage.served_link(user=user))
        visit(pages[user], base_of(pages[user].url), "jobs")
    assert len({origin_of(page.url) for page in pages.values()}) == 1
    for user in USERS:
        stage.call("submit", "--quiet", "--name", f"of-{user}", "--hold", "--", "true", user=user)
    for own, other in [USERS, USERS[::-1]]:
        shown(pages[own], f"of-{own}")
        expect(pages[own].locator("main")).not_to_contain_text(f"of-{other}")
        pages[own].notes.check(origin_of(pages[own].url))
        pages[own].context.close()


def check_link_works_once(stage, chrome):
    """A ticket that was used opens nothing, and the page says how to get another link."""
    link = stage.served_link(user=USERS[0])
    context = chrome.new_context()
    open_window(context, link)
    context.close()
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link)
    shown(page, "No session in this tab")
    shown(page, "`tollgate open --web` prints another link")
    context.close()


def check_other_hosts_and_origins_are_refused(stage, chrome):
    """A wrong host, another origin, and a page of another site get nothing, with a session or without."""
    link = stage.served_link(user=USERS[0])
    context = chrome.new_context()
    page = open_window(context, link)
    session = page.evaluate("sessionStorage.getItem('tollgate-session')")
    known = {"authorization": f"Bearer {session}"}
    assert ask(link, "GET", "/v1/jobs", known) == 200
    assert ask(link, "GET", "/v1/jobs", {}) == 401
    assert ask(link, "GET", "/", {"host": "evil.example"}) == 421
    assert ask(link, "GET", "/v1/jobs", {**known, "host": "evil.example"}) == 421
    assert ask(link, "GET", "/v1/jobs", {**known, "origin": "http://evil.example"}) == 403
    assert ask(link, "GET", "/v1/jobs", {**known, "sec-fetch-site": "cross-site"}) == 403
    context.close()


def check_job_is_that_of_the_user_of_the_session(stage, chrome):
    """A job that is typed into the form runs as the user, and the service does not read its output."""
    folder = stage.folder / "of-the-user"
    folder.mkdir()
    shutil.chown(folder, USERS[0])
    context = chrome.new_context()
    page = open_window(context, stage.served_link(user=USERS[0]))
    visit(page, base_of(page.url), "submit")
    for field, value in {"command": "sh -c 'id -un > who'", "dir": str(folder), "estimate": "1m"}.items():
        page.locator(f"#job-form [name={field}]").fill(value)
    page.get_by_role("button", name="Submit").click()
    link = page.locator("#answer a").first
    expect(link).to_contain_text("Job")
    stage.call("wait", "--quiet", link.inner_text().split()[-1], user=USERS[0])
    assert (folder / "who").read_text().strip() == USERS[0]
    link.click()
    shown(page, "cannot be read from here")
    page.notes.check(origin_of(page.url))
    context.close()


def check_operator_grants_a_job_more_than_a_share(stage, chrome):
    """An operator grants it with a reason; the user of the job cannot."""
    other = stage.call("submit", "--quiet", "--procs", "2", "--estimate", "5m", "--output", "none", "--", "sleep", "300",
                       user=USERS[1]).stdout.strip()
    wide = ["--procs", "2", "--estimate", "1h", "--deadline", "+80m", "--output", "none"]
    job = stage.call("submit", "--quiet", "--name", "wide", *wide, "--", "sleep", "1", user=USERS[0]).stdout.strip()
    for user in [USERS[0], None]:
        context = chrome.new_context()
        page = open_window(context, stage.served_link(job, user=user))
        shown(page, f"Job {job}: wide")
        if user:
            assert page.locator("#job-grant").count() == 0
            context.close()
    page.get_by_text("Grant more than the share").click()
    page.get_by_role("button", name="Grant").click()
    expect(page.locator("#grant-answer")).to_contain_text("Reason: expected one")
    page.locator("#grant-form [name=reason]").fill("the institute's deadline")
    page.get_by_role("button", name="Grant").click()
    expect(page.locator("#grant-answer")).to_contain_text("may go beyond the share of its user")
    assert "the institute's deadline" in stage.call("explain", "--history", job).stdout
    stage.call("cancel", job, other)
    context.close()


def check_strangers_do_not_keep_users_out(stage, chrome):
    """Connections that ask for nothing, or never end their request, take the places of each other alone."""
    link = stage.served_link(user=USERS[0])
    address = urlsplit(link).netloc.split(":")
    strangers = [socket.create_connection(address) for _ in range(STRANGERS)]
    for stranger in strangers[::2]:
        stranger.send(b"GET / HTTP/1.1\r\nhost: half")
    pid = stage.processes["service"].pid
    held = len(os.listdir(f"/proc/{pid}/fd"))
    assert held < STRANGERS, held
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(page.url), "jobs")
    context.close()
    for stranger in strangers:
        stranger.close()


def check_service_that_was_killed_is_waited_for(stage, chrome):
    """The page says that the service is away, and goes on with the same session once it is back."""
    context = chrome.new_context()
    page = open_window(context, stage.served_link(user=USERS[0]))
    visit(page, base_of(page.url), "jobs")
    began = time.monotonic()
    stage.kill("service")
    shown(page, "The service does not answer.", seconds=10)
    print(f"   the banner came after {time.monotonic() - began:.1f} s")
    stage.serve()
    stage.call("submit", "--quiet", "--name", "after-the-kill", "--hold", "--", "true", user=USERS[0])
    expect(page.locator("#banner")).to_be_hidden(timeout=30_000)
    shown(page, "after-the-kill")
    context.close()


def check_browser_without_events_goes_on(stage, chrome):
    """Pages of one browser share a stream. A browser for which none is left says so, and is refreshed all the same."""
    first = chrome.new_context()
    for link in [stage.served_link(user=USERS[1]) for _ in range(STREAMS + 1)]:
        last_of_first = open_window(first, link)
    others = []
    for _ in range(STREAMS - 1):
        others.append(chrome.new_context())
        open_window(others[-1], stage.served_link(user=USERS[1]))
    expect(last_of_first.locator("#live")).to_have_text("live")
    others.append(chrome.new_context())
    ninth = others[-1].new_page()
    ninth.goto(stage.served_link(user=USERS[1]))
    expect(ninth.locator("#live")).to_have_text("every 5 s: too many pages are open", timeout=30_000)
    stage.call("submit", "--quiet", "--name", "seen-by-the-ninth", "--hold", "--", "true", user=USERS[1])
    for page in [ninth, last_of_first]:
        page.goto(f"{base_of(page.url)}/jobs")
        shown(page, "seen-by-the-ninth")
    for context in [first, *others]:
        context.close()


def main(program, chromium, folder):
    if os.getuid() != 0:
        print("not run: the window of a service: only root starts a service for all users")
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The users need to reach the program and the socket.
    open_folder = Path(tempfile.mkdtemp())
    open_folder.chmod(0o755)
    names = str(USERS).replace("'", '"')
    settings = f'policy = "plan:share=0.2"\nusers = "all"\naccount = "root"\nsystem_users = {names}\n[local]\nnodes = 2\n[web]\naddress = "127.0.0.1:{port}"\n'
    stage = Stage(shutil.copy(program, open_folder), open_folder / "users", settings)
    checks = [check for name, check in globals().items() if name.startswith("check_")]
    try:
        stage.serve()
        with browser(chromium) as chrome:
            for check in checks:
                print(f"== {check.__name__.removeprefix('check_').replace('_', ' ')}", flush=True)
                check(stage, chrome)
    finally:
        stage.end()
        shutil.rmtree(open_folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
