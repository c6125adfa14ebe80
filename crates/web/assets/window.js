// The window of tollgate: fetches parts of pages, puts them in place, and does so again after events of the service.
// Nothing is worked out here but the zone of times.

const policy = globalThis.trustedTypes?.createPolicy("tollgate", { createHTML: (html) => html });
const PAGES = ["now", "jobs", "job", "submit", "how-well", "machine"];
/** The pages that are fetched again after events, and after this time without one. */
const LIVE = new Set(["now", "jobs", "job", "how-well", "machine"]);
const REFRESH_MS = 5000;
/** The least time between two refreshes, however many events come. */
const PAUSE_MS = 260;
const RETRY_MS = 1000;
const KEY = "tollgate-session";

const byId = (id) => document.getElementById(id);
const [main, live, banner, notice] = ["main", "live", "banner", "notice"].map(byId);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const pageName = () => PAGES.find((name) => location.pathname.endsWith(`/${name}`)) ?? "now";

/** The HTML of each part as it was fetched, by its id. */
let shown = new Map();
let [begun, placed, underway, lastBegun, following, timer, stream, pace] = [0, 0, 0, 0, null, null, null, "live"];

// The session: from the ticket in the link, from this tab, or from another tab of this window.

const tabs = new BroadcastChannel("tollgate");
tabs.onmessage = ({ data }) => {
  const session = sessionStorage.getItem(KEY);
  if (data.asks && session) tabs.postMessage({ session });
  if (data.changed && session) [pace] = [data.changed, refresh()];
};

function sessionOfOtherTab() {
  return new Promise((done) => {
    const answers = new BroadcastChannel("tollgate");
    answers.onmessage = ({ data }) => data.session && done(data.session);
    answers.postMessage({ asks: true });
    setTimeout(() => done(null), 200);
  });
}

async function openSession() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket) {
    history.replaceState(null, "", location.pathname + location.search);
    const body = JSON.stringify({ ticket });
    const headers = { "content-type": "application/json" };
    const answer = await fetch("ui/session", { method: "POST", headers, body });
    if (answer.ok) sessionStorage.setItem(KEY, (await answer.json()).session);
    else if (!sessionStorage.getItem(KEY)) return noSession(await answer.json());
  }
  if (!sessionStorage.getItem(KEY)) {
    const session = await sessionOfOtherTab();
    if (session) sessionStorage.setItem(KEY, session);
  }
  return sessionStorage.getItem(KEY) ? true : noSession();
}

function noSession(problem) {
  sessionStorage.removeItem(KEY);
  stream?.abort();
  const [part, title, text] = ["section", "h1", "p"].map((name) => document.createElement(name));
  title.textContent = "No session in this tab";
  const sentences = [problem?.error, main.dataset.link].filter(Boolean);
  text.textContent = sentences.map((words) => `${words[0].toUpperCase()}${words.slice(1)}.`).join(" ");
  part.append(title, text);
  main.replaceChildren(part);
  shown = new Map();
  setLive("no session", false);
  return false;
}

// Requests: each has the session, and the zone of the browser.

async function ask(path, options = {}) {
  const headers = {
    authorization: `Bearer ${sessionStorage.getItem(KEY)}`,
    "tollgate-zone": Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC",
    ...options.headers,
  };
  if (options.body) headers["content-type"] = "application/json";
  const answer = await fetch(path, { ...options, headers }).catch((error) => {
    if (error.name !== "AbortError") outage(main.dataset.gone);
    throw error;
  });
  if (answer.status === 401) {
    noSession(await answer.json());
    throw new Error("no session");
  }
  if (answer.status === 502) {
    outage("The service does not answer. This page shows what was known before, and goes on by itself.");
    throw new Error("no service");
  }
  return answer;
}

function outage(words) {
  banner.textContent = words;
  banner.hidden = false;
  setLive("not live", false);
}

function setLive(words, good) {
  if (live.textContent !== words) live.textContent = words; // Readers say what changes.
  live.className = good ? "good" : "bad";
}

// Parts of pages: only those that changed are replaced.

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return [...template.content.children];
}

function place(html, afresh) {
  const parts = parse(html);
  const same = !afresh && parts.length === main.children.length
    && parts.every((part, at) => part.id && part.id === main.children[at].id);
  const known = new Map(parts.map((part) => [part.id, part.outerHTML]));
  const focus = document.activeElement;
  const address = focus.id ? `#${CSS.escape(focus.id)}` : `[href="${CSS.escape(focus.getAttribute("href") ?? "")}"]`;
  parts.forEach((part, at) => {
    const old = main.children[at];
    if (same && (shown.get(part.id) === part.outerHTML || old.hasAttribute("data-keep"))) return;
    localise(part);
    if (!same) return;
    for (const details of old.querySelectorAll("details[id]")) {
      part.querySelector(`#${CSS.escape(details.id)}`)?.toggleAttribute("open", details.open);
    }
    const scrolled = [...old.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
    old.replaceWith(part);
    part.querySelectorAll(".scroll").forEach((box, n) => scrolled[n] && box.scrollTo(...scrolled[n]));
  });
  if (!same) main.replaceChildren(...parts);
  shown = known;
  if (same && !focus.isConnected) main.querySelector(address)?.focus();
}
const zoned = (options) => new Intl.DateTimeFormat(undefined, options);
const FORMATS = {
  near: zoned({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }),
  minute: zoned({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
  far: zoned({ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
  year: zoned({ year: "numeric", month: "short", day: "numeric" }),
};

function localise(part) {
  const today = new Date();
  for (const element of part.querySelectorAll("time[datetime], [data-at]")) {
    const words = element.getAttribute("datetime") ?? element.dataset.at;
    const at = new Date(words);
    if (Number.isNaN(at.getTime())) continue;
    const near = Math.abs(at - today) < 43_200_000 || at.toDateString() === today.toDateString();
    const kind = element.dataset.form ?? (near ? "near" : at.getFullYear() === today.getFullYear() ? "far" : "year");
    element.textContent = FORMATS[kind].format(at);
    if (element.localName === "time") element.title = words.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
  }
}

async function load(afresh) {
  const [asked, mine, name] = [location.href, ++begun, pageName()];
  lastBegun = Date.now();
  underway += 1;
  try {
    const answer = await ask(`ui/page/${name}${location.search}`), html = await answer.text();
    if (asked !== location.href || mine < placed) return;
    place(html, afresh || place.address !== asked);
    [place.address, placed] = [asked, mine];
    arrive(name);
    banner.hidden = true;
    setLive(answer.status === 403 ? "refused" : pace, answer.status !== 403 && pace === "live");
  } catch { /* The banner says why. */ } finally {
    underway -= 1;
  }
}

/** Loads the page again, soon: at most one such load is under way, and none begins right after another one. */
function refresh() {
  if (!LIVE.has(pageName())) return;
  timer ??= setTimeout(() => {
    timer = null;
    if (underway) refresh();
    else load(false);
  }, Math.max(20, lastBegun + PAUSE_MS - Date.now()));
}

function arrive(name) {
  document.querySelector("nav a[aria-current]")?.removeAttribute("aria-current");
  document.querySelector(`nav a[href="${name === "job" ? "jobs" : name}"]`)?.setAttribute("aria-current", "page");
  document.title = `${main.querySelector("h1")?.textContent ?? "tollgate"} - tollgate`;
}

async function go(url) {
  history.pushState(null, "", url);
  await load(true);
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

// Events of the service: each fetches the page again. The pages of one browser share a stream: it allows few connections.

async function follow() {
  for (let last = null; sessionStorage.getItem(KEY); ) {
    if (document.hidden) await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
    else if (!navigator.locks) last = await listen(last);
    else last = await navigator.locks.request(KEY, () => (document.hidden ? last : listen(last)));
  }
}

/** Follows one stream to its end; returns the last event of it. */
async function listen(last) {
  stream = new AbortController();
  try {
    const answer = await ask("v1/events", { headers: last ? { "last-event-id": last } : {}, signal: stream.signal });
    pace = answer.status === 429 ? `every ${REFRESH_MS / 1000} s: too many pages are open` : "live";
    changed();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      const events = (text + value).split("\n\n");
      text = events.pop();
      last = events.join("\n").match(/^id: (.*)$/gm)?.pop().slice(4) ?? last;
      if (events.some((event) => /^event: /m.test(event))) changed();
    }
  } catch { /* The banner says why. */ }
  await sleep(document.hidden ? 0 : pace === "live" ? RETRY_MS : REFRESH_MS);
  return last;
}

function changed() {
  refresh();
  tabs.postMessage({ changed: pace });
}

// What the user does.

function message(words, good) {
  notice.textContent = words;
  notice.className = good ? "good" : "bad";
  notice.hidden = !words;
}

async function send(path, body, into) {
  try {
    const answer = await ask(path, { method: "POST", body: JSON.stringify(body) });
    if (into) {
      const parts = parse(await answer.text());
      parts.forEach(localise);
      byId(into).replaceChildren(...parts);
      return byId(into).scrollIntoView({ block: "nearest" });
    }
    const said = await answer.json();
    message(answer.ok ? said.done : [said.error, said.hint].filter(Boolean).join(": "), answer.ok);
    await load(false);
  } catch { /* The banner says why. */ }
}

document.addEventListener("click", (event) => {
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const link = event.target.closest("a[href]");
  if (link && plain) {
    const url = new URL(link.getAttribute("href"), location.href);
    if (link.getAttribute("href").startsWith("#") || !PAGES.some((name) => url.pathname.endsWith(`/${name}`))) return;
    event.preventDefault();
    message("", true);
    go(url.href);
  }
  const button = event.target.closest("button");
  if (button?.dataset.fill) {
    const form = byId("job-form");
    for (const [name, value] of Object.entries(JSON.parse(button.dataset.fill))) form.elements[name].value = value;
    form.requestSubmit(byId(button.dataset.then));
  }
  if (button?.dataset.post && (!button.dataset.ask || confirm(button.dataset.ask))) send(button.dataset.post, {});
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(form));
  if (form.dataset.into) return void send(event.submitter?.dataset.to ?? form.dataset.to, fields, form.dataset.into);
  const given = Object.entries(fields).filter(([, value]) => value !== "");
  go(`${form.getAttribute("action")}?${new URLSearchParams(given)}`);
});

addEventListener("popstate", () => load(true));
document.addEventListener("visibilitychange", () => document.hidden && stream?.abort());
setInterval(() => {
  const idle = Date.now() - lastBegun > REFRESH_MS;
  if (idle && !document.hidden && sessionStorage.getItem(KEY)) refresh();
}, 1000);
addEventListener("hashchange", async () => location.hash.includes("ticket=") && (await openSession()) && start());

async function start() {
  await load(true);
  following ??= follow().finally(() => (following = null));
}

if (await openSession()) start();
