"""Checks what the window does in a browser, before a real service: window.py PROGRAM CHROMIUM FOLDER."""

import csv
import http.server
import json
import re
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from session import ask, PAGES, base_of, browser, open_window, origin_of, shown, visit
from stage import Stage, wait_until


def check_link_works_once(stage, chrome):
    """A link opens the window, also after a reload and in another tab; another browser cannot use it again."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    assert "ticket" not in page.url, page.url
    page.reload()
    expect(page.locator("#now-facts")).to_be_visible()
    other = open_window(context, base_of(link) + "/jobs")
    expect(other.locator("#jobs-list")).to_be_visible()
    stranger = chrome.new_context().new_page()
    stranger.goto(link)
    shown(stranger, "This link was used before, or is older than a minute.")
    assert stranger.locator("#now-facts").count() == 0
    page.notes.check(origin_of(link))
    context.close()


def check_pages_ask_nobody_else(stage, chrome):
    """Every page shows something, asks no other origin, and says nothing in the console."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    for name in PAGES:
        visit(page, base_of(link), name)
        assert page.locator("main h1").count() == 1, name
    page.notes.check(origin_of(link))
    context.close()


def check_job_is_quoted_offered_and_submitted(stage, chrome):
    """All of it by keyboard: a quote, an offer that is taken, and the job."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    while page.evaluate("document.activeElement.textContent") != "Submit":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    form = page.locator("#job-form")
    form.locator("[name=command]").focus()
    page.keyboard.type("sleep 'not a number'")
    while page.evaluate("document.activeElement.name") != "estimate":
        page.keyboard.press("Tab")
    page.keyboard.type("soon")
    page.keyboard.press("Enter")
    shown(page, "Takes about: expected a span")
    expect(form.locator("[name=command]")).to_have_value("sleep 'not a number'")
    form.locator("[name=command]").fill("sleep 1")
    form.locator("[name=estimate]").fill("10m")
    form.locator("[name=deadline]").fill("+1m")
    form.locator("[name=name]").fill("typed")
    page.keyboard.press("Enter")
    offer = page.get_by_role("button", name="Take it").first
    offer.focus()
    page.keyboard.press("Enter")
    expect(form.locator("[name=deadline]")).to_have_value(re.compile(r"\+\d+s"))
    # Jobs go on meanwhile, so that an offer may be taken too late.
    form.locator("[name=deadline]").fill("+3h")
    page.keyboard.press("Enter")
    shown(page, "would be promised")
    reserve = page.get_by_role("button", name="Reserve")
    reserve.focus()
    page.keyboard.press("Enter")
    shown(page, "Reserved as quote")
    page.locator("#answer").get_by_role("button", name="Submit").focus()
    page.keyboard.press("Enter")
    shown(page, "accepted, as quoted")
    number = page.locator("#answer a").inner_text().removeprefix("Job ")
    job = json.loads(stage.call("jobs", number, "--format", "json").stdout)["jobs"][0]
    assert job["name"] == "typed" and job["command"] == ["sleep", "1"], job
    page.locator("#answer a").click()
    shown(page, f"Job {number}: typed")
    page.notes.check(origin_of(link))
    context.close()


def check_job_is_cancelled_after_a_question(stage, chrome):
    """The button asks, and the page says what was done."""
    _, link = stage.open()
    job = stage.submit("held", 1, "1m", None, 60, "--hold")
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(link), f"job?id={job}")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Cancel the job").click()
    assert "held" in stage.call("jobs", job).stdout
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel the job").click()
    shown(page, f"Job {job} is cancelled.")
    expect(page.locator("h1 .tag")).to_have_text("cancelled")
    context.close()


def check_events_arrive(stage, chrome):
    """A job of somebody else appears by itself; however many events come, at most four parts are fetched a second."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, base_of(link) + "/jobs#" + link.split("#")[1])
    began = time.monotonic()
    job = stage.submit("appears", 1, "1m", None, 60, "--hold")
    asked = time.monotonic()
    expect(page.locator(f"a[href='job?id={job}']")).to_be_visible()
    print(f"   a job was submitted in {asked - began:.2f} s and seen {time.monotonic() - asked:.2f} s later")
    page.notes.requests.clear()
    began = time.monotonic()
    jobs = [stage.submit("many", 1, "1m", None, 60, "--hold") for _ in range(20)]
    stage.call("cancel", job, *jobs)
    expect(page.locator(f"tr:has(a[href='job?id={jobs[-1]}'])")).to_contain_text("cancelled")
    fetched = sum("/ui/page/" in url for url in page.notes.requests)
    took = time.monotonic() - began
    print(f"   {2 * len(jobs)} events in {took:.1f} s: {fetched} parts fetched")
    assert fetched <= 4 * took + 1, (fetched, took)
    context.close()


def check_session_that_ends_ends_the_stream(stage, chrome):
    """After its session has ended, the page shows nothing more."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    session = page.evaluate("sessionStorage.getItem('tollgate-session')")
    visit(page, base_of(link), "submit")
    began = time.monotonic()
    ended = ask(link, "POST", "/ui/session/end", {"authorization": f"Bearer {session}"})
    assert ended == 204, ended
    # The form asks for nothing by itself: only the end of the stream of events tells.
    shown(page, "No session in this tab", seconds=15)
    print(f"   ended after {time.monotonic() - began:.1f} s")
    context.close()


def check_other_hosts_and_origins_are_refused(stage, chrome):
    """A wrong host, another origin, and a page of another site get nothing, with a session or without."""
    _, link = stage.open()
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


def check_server_on_another_port_learns_nothing(stage, chrome):
    """A page of another port of this host neither gets the session nor cancels a job."""
    _, link = stage.open()
    job = stage.submit("victim", 1, "1m", None, 60, "--hold")
    received = []

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            received.append(dict(self.headers))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(
                f"""<form id=f method=post action='{base_of(link)}/v1/jobs/{job}/cancel' target=t></form>
                <iframe name=t></iframe><script>
                f.submit();
                const tried = [fetch('{base_of(link)}/v1/jobs/{job}/cancel', {{method: 'POST', credentials: 'include'}}),
                  fetch('{base_of(link)}/v1/jobs', {{credentials: 'include'}}).then((answer) => answer.text())];
                new BroadcastChannel('tollgate').postMessage({{asks: true}});
                Promise.allSettled(tried).then((all) => document.title = all.map((one) => one.status).join());
                </script>""".encode()
            )

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = chrome.new_context()
    open_window(context, link)
    evil = context.new_page()
    evil.goto(f"http://127.0.0.1:{server.server_port}/")
    expect(evil).to_have_title("rejected,rejected")
    heads = json.dumps(received).lower()
    assert "tollgate" not in heads and "cookie" not in heads, heads
    assert "held" in stage.call("jobs", job).stdout
    server.shutdown()
    context.close()


def check_service_that_restarts_is_waited_for(stage, chrome):
    """A banner says that the service is away, and goes once it answers again; nothing that happened is missing."""
    name, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, base_of(link) + "/jobs#" + link.split("#")[1])
    began = time.monotonic()
    stage.stop("service")
    shown(page, "The service does not answer.", seconds=5)
    print(f"   the banner came {time.monotonic() - began:.1f} s after the end began")
    log = stage.folder / f"{name}.log"
    wait_until(lambda: "the window waits for the service" in log.read_text(), "the outage is noted")
    stage.serve()
    job = stage.submit("after", 1, "1m", None, 60, "--hold")
    expect(page.locator("#banner")).to_be_hidden(timeout=30_000)
    expect(page.locator(f"a[href='job?id={job}']")).to_be_visible()
    wait_until(lambda: "the service answers again" in log.read_text(), "the end of the outage is noted")
    context.close()


def check_read_only_window_changes_nothing(stage, chrome):
    """There is no form and no button, and requests are refused."""
    _, link = stage.open("--read-only")
    context = chrome.new_context()
    page = open_window(context, link)
    session = page.evaluate("sessionStorage.getItem('tollgate-session')")
    assert page.locator("nav").inner_text().split("\n").count("Submit") == 0
    for name in ["job?id=9", "submit"]:
        visit(page, base_of(link), name)
        assert page.locator("main button").count() == 0, name
    refused = ask(link, "POST", "/v1/jobs/9/cancel", {"authorization": f"Bearer {session}"})
    assert refused == 403, refused
    context.close()


def check_window_below_a_prefix(stage, chrome):
    """Every link and request stays below the prefix."""
    _, link = stage.open("--prefix", "/user/me")
    context = chrome.new_context()
    page = open_window(context, link)
    for name in ["Jobs", "Submit", "How well", "Machine", "Now"]:
        page.locator("nav").get_by_role("link", name=name, exact=True).click()
        expect(page.locator("nav a[aria-current]")).to_have_text(name)
        assert urlsplit(page.url).path.startswith("/user/me/"), page.url
    outside = [url for url in page.notes.requests if not urlsplit(url).path.startswith("/user/me/")]
    assert not outside, outside
    context.close()


def check_job_is_changed(stage, chrome):
    """A job that waits gets another name and deadline; a field that is not understood changes nothing."""
    job = stage.submit("before", 1, "10s", "+2h", 1, "--hold")
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(link), f"job?id={job}")
    page.get_by_text("Change the job").click()
    form = page.locator("#alter-form")
    form.locator("[name=deadline]").fill("soonish")
    form.get_by_role("button", name="Change").click()
    expect(page.locator("#alter-answer")).to_contain_text("Must have ended by:")
    form.locator("[name=deadline]").fill("+5h")
    form.locator("[name=name]").fill("after")
    form.get_by_role("button", name="Change").click()
    expect(page.locator("h1")).to_contain_text(f"Job {job}: after")
    changed = json.loads(stage.call("explain", job, "--format", "json").stdout)["job"]
    assert changed["name"] == "after", changed
    page.notes.check(origin_of(link))
    stage.call("cancel", job)
    context.close()


def check_host_is_drained_and_resumed(stage, chrome):
    """An operator drains a host after a question, and lets jobs start there again."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(link), "machine")
    host = page.locator("#machine-hosts tr", has_text="rack-b")
    page.once("dialog", lambda dialog: dialog.accept())
    host.get_by_role("button", name="Drain").click()
    shown(page, "Nothing else starts on worker rack-b.")
    expect(host).to_contain_text("drain")
    host.get_by_role("button", name="Resume").click()
    shown(page, "Jobs start on worker rack-b again.")
    expect(host.get_by_role("button", name="Drain")).to_be_visible()
    page.notes.check(origin_of(link))
    context.close()


def check_jobs_are_selected_by_their_promise(stage, chrome):
    """The page Jobs lists the jobs with a promise, and keeps the selection in its address."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(link), "jobs")
    page.locator("[name=promise]").select_option("kept")
    page.get_by_role("button", name="Show").click()
    shown(page, "in time")
    kept = stage.call("jobs", "--quiet", "--promise", "kept").stdout.split()
    assert kept and page.locator("#jobs-list tbody tr").count() == len(kept), kept
    assert parse_qs(urlsplit(page.url).query) == {"promise": ["kept"]}, page.url
    page.notes.check(origin_of(link))
    context.close()


def check_ledger_is_saved_as_a_file(stage, chrome):
    """How well has the ledger as CSV, without another request."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(link), "how-well")
    with page.expect_download() as saving:
        page.locator("#ledger-csv").click()
    saved = saving.value
    assert saved.suggested_filename == "tollgate-ledger.csv", saved.suggested_filename
    rows = list(csv.DictReader(open(saved.path(), newline="")))
    ledger = json.loads(stage.call("ledger", "--format", "json").stdout)["accounts"]
    assert [float(row["charges"]) for row in rows] == [entry["charges"] for entry in ledger], rows
    assert [row["user"] for row in rows] == [entry["user"] for entry in ledger], rows
    context.close()


def check_job_that_is_named_is_shown_first(stage, chrome):
    """`tollgate open ID` shows the job."""
    _, link = stage.open("9")
    assert parse_qs(urlsplit(link).query) == {"id": ["9"]}, link
    context = chrome.new_context()
    page = open_window(context, link)
    shown(page, "Job 9: render")
    shown(page, "step 3 of render")
    context.close()


def main(program, chromium, folder):
    stage = Stage(program, folder)
    try:
        stage.serve()
        stage.add_worker()
        stage.fill()
        wait_until(lambda: "running" in stage.call("jobs", "9").stdout, "job 9 runs")
        with browser(chromium) as chrome:
            for name, check in list(globals().items()):
                if name.startswith("check_"):
                    print(f"== {name.removeprefix('check_').replace('_', ' ')}", flush=True)
                    check(stage, chrome)
                    # The service limits the streams of events of a user, and each window has one.
                    stage.close_windows()
    finally:
        stage.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
