// The frame: which page is shown, what is known about the runs, marks for comparison, keys.

import { comparePage } from "./compare.js";
import { h } from "./dom.js";
import { dialoguePage } from "./reading.js";
import { listPage } from "./list.js";
import { problemPage } from "./problem.js";

const POLL_MS = 2000;
const PAGES = { dialogues: listPage, dialogue: dialoguePage, compare: comparePage, problem: problemPage };
const KEYS = [
  ["/", "search"],
  ["j  k", "next, previous dialogue"],
  ["Enter", "open"],
  ["[  ]", "previous, next page"],
  ["1 … 5", "views of a dialogue"],
  ["p", "this problem over the steps"],
  ["c", "mark for comparison"],
  ["x", "compare the two marked"],
  ["Esc", "back to the list"],
  ["?", "this help"],
];

const app = {
  state: { version: null, runs: [], facets: [], numbers: [], reward_parts: [], bad_lines: [], progress: null },
  page: null,
  lastList: "#/dialogues",
  order: null, // the list that a dialogue was opened from: its parameters and the keys on its page
  marks: JSON.parse(sessionStorage.getItem("marks") ?? "[]"),
  get,
  runName,
  toggleMark,
  isMarked: (key) => app.marks.some((mark) => mark.key === key),
};

/** JSON from the server. Throws an Error with its message when it refuses. */
async function get(path, params = new URLSearchParams(), signal = undefined) {
  const query = params.toString();
  const response = await fetch(query ? `${path}?${query}` : path, { signal });
  if (response.ok) return response.json();
  if (response.status === 401) throw new Error("Open the address that the command printed: it holds the token.");
  const problem = await response.json().catch(() => null);
  throw new Error(
    typeof problem?.detail === "string" ? problem.detail : `The server answered with status ${response.status}.`,
  );
}

function runName(id) {
  return app.state.runs.find((run) => run.id === id)?.name ?? "";
}

async function route() {
  const [, name = "", rest = "", query = ""] = location.hash.match(/^#\/([a-z]+)\/?([^?]*)\??(.*)$/) ?? [];
  const open = PAGES[name] ?? listPage;
  app.page?.close?.();
  showTray();
  const main = document.getElementById("main");
  const opening = open(app, rest.split("/"), new URLSearchParams(query));
  app.page = opening;
  try {
    const content = await opening.content();
    if (app.page !== opening) return;
    main.replaceChildren(...[content].flat());
    document.title = opening.title?.() ?? "Dialogues";
    if (name !== "" && name !== "dialogues") window.scrollTo(0, 0);
    opening.shown?.();
  } catch (error) {
    if (app.page === opening) main.replaceChildren(h("p", { class: "notice bad", role: "alert" }, error.message));
  }
}

async function poll() {
  try {
    const known = app.state.version;
    const news = await get("/api/state", new URLSearchParams(known === null ? {} : { version: known }));
    if (news.version !== known) {
      app.state = { ...app.state, ...news };
      if (known !== null) app.page?.refresh?.();
    }
    showStatus();
  } catch (error) {
    document.getElementById("status").textContent =
      error instanceof TypeError ? "The viewer has been stopped." : error.message;
  }
  setTimeout(poll, POLL_MS);
}

function showStatus() {
  const { progress, bad_lines: bad } = app.state;
  const reading = !progress
    ? "Looking for dialogues …"
    : progress.done < progress.total
      ? `Indexing: ${Math.floor((100 * progress.done) / progress.total)} %`
      : "";
  const broken = bad.length
    ? `${bad.length} file${bad.length > 1 ? "s" : ""} with unreadable lines, first ${bad[0].path}, ${bad[0].first_bad}`
    : "";
  document.getElementById("status").textContent = [reading, broken].filter(Boolean).join(" · ");
}

function toggleMark(key, name) {
  app.marks = app.isMarked(key)
    ? app.marks.filter((mark) => mark.key !== key)
    : [...app.marks, { key, name }].slice(-2);
  sessionStorage.setItem("marks", JSON.stringify(app.marks));
  showTray();
  app.page?.marksChanged?.();
}

function showTray() {
  const tray = document.getElementById("tray");
  tray.hidden = app.marks.length === 0 || location.hash.startsWith("#/compare/");
  const clear = () => {
    app.marks = [];
    sessionStorage.removeItem("marks");
    showTray();
    app.page?.marksChanged?.();
  };
  tray.replaceChildren(
    h("span", { class: "soft" }, app.marks.length === 1 ? "Marked, one more to compare:" : "Marked:"),
    ...app.marks.map((mark) => h("span", {}, mark.name)),
    h("span", { class: "gap" }),
    app.marks.length === 2 ? h("a", { class: "primary", href: compareAddress() }, "Compare") : "",
    h("button", { type: "button", onclick: clear }, "Clear"),
  );
}

function compareAddress() {
  return `#/compare/${app.marks.map((mark) => mark.key).join("/")}`;
}

function onKey(event) {
  const typing = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const general = {
    "?": showKeys,
    x: () => app.marks.length === 2 && (location.hash = compareAddress()),
    Escape: () => (location.hash = app.lastList),
  };
  const act = app.page?.keys?.[event.key] ?? general[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function showKeys() {
  const dialog = document.getElementById("keys");
  dialog.replaceChildren(
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "dl",
      {},
      KEYS.map(([keys, what]) => [
        h(
          "dt",
          {},
          keys.split("  ").map((key) => [h("kbd", {}, key), " "]),
        ),
        h("dd", {}, what),
      ]),
    ),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const next = { "": "light", light: "dark", dark: "" }[theme];
  const button = document.getElementById("theme");
  button.textContent = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" }[theme];
  button.onclick = () => {
    localStorage.setItem("theme", next);
    setTheme(next);
  };
}

setTheme(localStorage.getItem("theme") ?? "");
document.getElementById("help").addEventListener("click", showKeys);
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", route);
showTray();
await poll();
route();
