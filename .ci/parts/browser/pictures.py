"""Pictures of each page in both themes and widths, and what axe finds there: pictures.py PROGRAM CHROMIUM FOLDER SHOTS."""

import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from session import NARROW, PAGES, WIDE, base_of, browser, open_window, visit
from stage import Stage, wait_until

#: A job whose deadline is too near, so that the answer has offers.
TIGHT = {"command": "./figures.sh 7", "estimate": "10m", "deadline": "+1m", "name": "figures"}


def name_of(page):
    return page.replace("?id=", "-")


def quote(page):
    """Fills the form and asks for a quote."""
    for field, value in TIGHT.items():
        page.locator(f"#job-form [name={field}]").fill(value)
    page.get_by_role("button", name="Quote").click()
    expect(page.get_by_role("button", name="Take it").first).to_be_visible()


def main(program, chromium, folder, shots):
    shots = Path(shots)
    shots.mkdir(parents=True, exist_ok=True)
    stage = Stage(program, folder)
    violations = []
    try:
        stage.serve()
        stage.add_worker()
        stage.fill()
        wait_until(lambda: "running" in stage.call("jobs", "9").stdout, "job 9 runs")
        with browser(chromium) as chrome:
            for theme in ["light", "dark"]:
                for size, viewport in [("wide", WIDE), ("phone", NARROW)]:
                    # Axe is a script of its own, which the policy of the pages would not let run.
                    context = chrome.new_context(viewport=viewport, color_scheme=theme, bypass_csp=True)
                    _, link = stage.open()
                    page = open_window(context, link)
                    for name in [*PAGES, "job?id=3"]:
                        visit(page, base_of(link), name)
                        if name == "submit":
                            quote(page)
                        page.screenshot(path=shots / f"{name_of(name)}-{theme}-{size}.png", full_page=True)
                        found = Axe().run(page).response["violations"]
                        violations += [
                            f"{name} {theme} {size}: {one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]
                        ]
                        if size == "phone":
                            wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                            if wider > 0:
                                violations.append(f"{name} {theme}: {wider} px wider than a phone")
                    context.close()
    finally:
        stage.end()
    print("\n".join(violations) or "axe finds nothing, and no page is wider than a phone")
    assert not violations, f"{len(violations)} violations"


if __name__ == "__main__":
    main(*sys.argv[1:])
