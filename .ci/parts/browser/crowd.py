"""Measures the window before 10,000 jobs and an array of 3,000 tasks: crowd.py PROGRAM CHROMIUM FOLDER.

A page that is busy for longer than 100 ms at a time (a "long task") feels stuck. Each page is loaded, and then left alone
for longer than it takes until it is fetched again.
"""

import sys

from session import base_of, browser, open_window, visit
from stage import Stage

#: Jobs that are held, and jobs and tasks that wait.
HELD, QUEUED, TASKS = 9_500, 500, 3_000
#: The longest time that a page may be busy, and the time that each page is left alone, in milliseconds.
MOST_BUSY_MS, ALONE_MS = 100, 6_000
#: How often each page is loaded. The shortest counts, because other programs of the host disturb the longer ones.
LOADS = 3
OBSERVE = """
window.busy = [];
new PerformanceObserver((list) => window.busy.push(...list.getEntries().map((task) => task.duration)))
  .observe({ type: "longtask", buffered: true });
"""


def fill(stage):
    """Submits the jobs; returns the number of the array."""
    def lines(count, *words):
        file = stage.folder / "lines"
        file.write_text("".join(f"sleep {n}\n" for n in range(600, 600 + count)))
        stage.call("submit", "--quiet", "--estimate", "20m", *words, "--each-line", str(file))

    lines(HELD, "--hold")
    array = stage.call("submit", "--quiet", "--estimate", "20m", "--array", f"1-{TASKS}", "--", "sleep", "900")
    lines(QUEUED)
    return array.stdout.strip()


def longest(chrome, stage, name):
    """Loads a page and returns the longest time that it was busy, in milliseconds; 0 below 50."""
    _, link = stage.open()
    context = chrome.new_context()
    page = open_window(context, link)
    page.add_init_script(OBSERVE)
    visit(page, base_of(link), name)
    page.wait_for_timeout(ALONE_MS)
    busy = page.evaluate("window.busy")
    context.close()
    # The service limits the streams of events of a user, and each window has two.
    stage.close_windows()
    return max(busy, default=0)


def main(program, chromium, folder):
    stage = Stage(program, folder)
    try:
        stage.serve()
        array = fill(stage)
        stuck = []
        with browser(chromium) as chrome:
            for name in ["now", "jobs", f"job?id={array}", "how-well", "machine"]:
                busy = min(longest(chrome, stage, name) for _ in range(LOADS))
                print(f"{name:12} busy for at most {busy:.0f} ms at a time (0: less than 50)", flush=True)
                if busy > MOST_BUSY_MS:
                    stuck.append(name)
        assert not stuck, f"busy for longer than {MOST_BUSY_MS} ms: {stuck}"
    finally:
        stage.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
