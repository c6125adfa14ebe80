"""A browser before the window: pages that note every request, message and error."""

import http.client
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

PAGES = ["now", "jobs", "job?id=9", "submit", "how-well", "machine"]
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}


@contextmanager
def browser(chromium):
    """Starts a browser without a window."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium)
        yield started
        started.close()


class Notes:
    """What a page asked for and said."""

    def __init__(self, page):
        self.requests, self.messages = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))

    def check(self, origin):
        """Checks that nothing was asked of another origin, and that nothing went wrong."""
        strangers = [url for url in self.requests if not url.startswith(origin + "/")]
        assert not strangers, strangers
        assert not self.messages, self.messages


def origin_of(link):
    """Returns scheme, host and port of a link."""
    parts = urlsplit(link)
    return f"{parts.scheme}://{parts.netloc}"


def base_of(link):
    """Returns the address below which the pages are."""
    return link.split("#")[0].rsplit("/", 1)[0]


def shown(page, words, seconds=30):
    """Waits until a page shows words."""
    expect(page.locator("body")).to_contain_text(words, timeout=seconds * 1000)


def open_window(context, link):
    """Opens a link in a new page, and waits for the first part of it."""
    page = context.new_page()
    page.notes = Notes(page)
    page.goto(link)
    expect(page.locator("#live")).to_have_text("live", timeout=30_000)
    return page


def visit(page, base, name):
    """Goes to a page of the window and waits until it is there."""
    page.goto(f"{base}/{name}")
    expect(page.locator("#live")).to_have_text("live", timeout=30_000)


def ask(link, method, path, headers):
    """Asks the window without a browser, and returns the status."""
    connection = http.client.HTTPConnection(urlsplit(link).netloc, timeout=10)
    connection.putrequest(method, path, skip_host="host" in headers)
    for name, value in {"content-length": "0", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse().status
