"""Checks who sees what in the window: access.py PROGRAM CHROMIUM FOLDER.

A token that expires ends what its window shows. Two users of one service see their own jobs alone; only root can start
such a service.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect

from session import base_of, browser, open_window, shown, visit
from stage import Stage

#: Users that every system has, and nobody works as.
USERS = ["daemon", "nobody"]


def check_token_that_expires_is_refused(stage, chrome):
    """The page says why, and what to do: another link would not help."""
    token = stage.folder / "token"
    token.touch(mode=0o600)
    token.write_text(stage.call("token", "new", "--expires", "15s").stdout)
    log = (stage.folder / "service.log").read_text()
    address, fingerprint = re.search(r"127\.0\.0\.1:\d+", log)[0], re.search(r"sha256:[0-9a-f]{64}", log)[0]
    _, link = stage.open("--url", f"https://{address}", "--fingerprint", fingerprint, "--token-file", str(token))
    context = chrome.new_context()
    page = open_window(context, link)
    visit(page, base_of(link), "jobs")
    shown(page, "of-the-owner")
    expect(page.locator("#live")).to_have_text("refused", timeout=60_000)
    shown(page, "nvalid token: unknown, revoked or expired")
    shown(page, "start `tollgate open` again, with a token that is valid")
    context.close()


def check_users_see_their_own_jobs(stage, chrome):
    """Neither the list nor the page of a job shows those of another user."""
    numbers = {}
    for user in USERS:
        asked = stage.call("submit", "--quiet", "--name", f"of-{user}", "--hold", "--", "true", user=user)
        numbers[user] = asked.stdout.strip()
    for own, other in [USERS, USERS[::-1]]:
        _, link = stage.open(user=own)
        context = chrome.new_context()
        page = open_window(context, link)
        visit(page, base_of(link), "jobs")
        shown(page, f"of-{own}")
        expect(page.locator("main")).not_to_contain_text(f"of-{other}")
        page.goto(f"{base_of(link)}/job?id={numbers[other]}")
        shown(page, "no such job")
        expect(page.locator("main")).not_to_contain_text(f"of-{other}")
        context.close()


def main(program, chromium, folder):
    with browser(chromium) as chrome:
        stage = Stage(program, folder + "/expires", '[listen]\naddress = "127.0.0.1:0"\n')
        try:
            stage.serve()
            stage.call("submit", "--quiet", "--name", "of-the-owner", "--hold", "--", "true")
            print("== token that expires is refused", flush=True)
            check_token_that_expires_is_refused(stage, chrome)
        finally:
            stage.end()
        if os.getuid() != 0:
            print("not run: users see their own jobs: only root starts a service for all users")
            return
        # The users need to reach the program and the socket.
        open_folder = Path(tempfile.mkdtemp())
        open_folder.chmod(0o755)
        settings = f'users = "all"\naccount = "root"\nsystem_users = {USERS}\n'.replace("'", '"')
        stage = Stage(shutil.copy(program, open_folder), open_folder / "users", settings)
        try:
            stage.serve()
            print("== users see their own jobs", flush=True)
            check_users_see_their_own_jobs(stage, chrome)
        finally:
            stage.end()
            shutil.rmtree(open_folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
