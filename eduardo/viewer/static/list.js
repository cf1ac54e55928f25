// The list: filters on the left; what is left over, in an order, on the right.

import { overSteps, rewardBar } from "./charts.js";
import { verdictBadge } from "./dialogue.js";
import { h } from "./dom.js";
import { filterPanel } from "./filters.js";
import { count, fixed, label, percent, signed } from "./format.js";

const LIMIT = 50;
const SEARCH_DELAY_MS = 180;
const HEAD = [["topic", "", "Problem"], ["number", "reward", "Reward"], ["number", "gain", "Δ"], ["number", "post", "Cold → after"], ["", "leak", "Handover"], ["", "teaching", "Teaching"], ["", "end_reason", "Ended"], ["number", "num_tutor_turns", "Turns"]];
const MORE_SORTS = ["newest", "step", "pair", "length_decay", "gate", "end_bonus", "end_penalty", "thinking_bonus", "visible_tokens", "thinking_tokens"];

/** What a mark in the tray says of a dialogue. */
export function markName(app, row) {
  const step = row.step === null || row.step === undefined ? "" : ` step ${row.step}`;
  return `${app.state.runs.length > 1 ? `${app.runName(row.run)} · ` : ""}${row.grp}${step} · ${signed(row.reward?.total ?? row.reward)}`;
}

export function listPage(app, _, params) {
  const results = h("div", { "aria-live": "polite" });
  const figures = h("div");
  let rows = [], total = 0, summed = null, asking = null, timer = 0;

  const change = (edit, { keepPage = false } = {}) => {
    edit(params);
    if (!keepPage) params.delete("offset");
    app.lastList = `#/dialogues?${params}`;
    history.replaceState(null, "", app.lastList);
    load();
  };

  async function load() {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    // The figures stay as they are while only order and page change.
    const filter = `${app.state.version} ${[...params].filter(([name]) => !["sort", "descending", "offset"].includes(name))}`;
    const page = new URLSearchParams([...params, ["limit", LIMIT], ["with_steps", filter !== summed]]);
    try {
      const found = await app.get("/api/dialogues", page, signal);
      const focused = document.activeElement?.closest("tr")?.dataset.key;
      rows = found.rows;
      if (found.steps) {
        summed = filter;
        total = found.steps.reduce((sum, step) => sum + step.num, 0);
        figures.replaceChildren(...summary(app, found.steps, total));
      }
      app.order = { params: new URLSearchParams(params), keys: rows.map((row) => row.key), total };
      results.replaceChildren(...table());
      if (focused) results.querySelector(`tr[data-key="${focused}"] td.topic a`)?.focus({ preventScroll: true });
    } catch (error) {
      if (error.name !== "AbortError") results.replaceChildren(h("p", { class: "notice bad", role: "alert" }, error.message));
    }
  }

  const sortBy = (column) => change(() => {
    const same = (params.get("sort") ?? "newest") === column;
    params.set("descending", String(same ? params.get("descending") === "false" : true));
    params.set("sort", column);
  });

  const table = () => {
    if (!total) return [h("p", { class: "nothing" }, params.size ? "No dialogue fits these filters." : "No dialogues yet. They appear here as they are recorded.")];
    const offset = Number(params.get("offset") ?? 0);
    return [
      h("table", { class: "list" }, h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "skip" }, "Compare")), HEAD.map(headCell))), h("tbody", {}, rows.map(rowOf))),
      h("div", { class: "pager" },
        h("button", { type: "button", disabled: offset === 0, onclick: () => turn(-1) }, "Previous"),
        h("span", { class: "soft" }, `${(offset + 1).toLocaleString("en")}–${(offset + rows.length).toLocaleString("en")} of ${total.toLocaleString("en")}`),
        h("button", { type: "button", disabled: offset + rows.length >= total, onclick: () => turn(1) }, "Next")),
    ];
  };

  const headCell = ([kind, column, title]) => {
    if (!column) return h("th", { scope: "col" }, title);
    const sorted = params.get("sort") === column;
    const descending = params.get("descending") !== "false";
    return h("th", { scope: "col", class: kind === "number" ? "number" : "", "aria-sort": sorted ? (descending ? "descending" : "ascending") : null },
      h("button", { type: "button", onclick: () => sortBy(column) }, title, sorted ? (descending ? " ↓" : " ↑") : ""));
  };

  const rowOf = (row) => {
    const place = [app.state.runs.length > 1 ? app.runName(row.run) : "", row.grp, row.step === null ? "" : `step ${row.step}`, row.sample === null ? "" : `sample ${row.sample}`].filter(Boolean).join(" · ");
    return h("tr", { "data-key": row.key },
      h("td", { class: "pick" }, h("input", { type: "checkbox", "aria-label": "mark for comparison", checked: app.isMarked(row.key), onchange: () => app.toggleMark(row.key, markName(app, row)) })),
      h("td", { class: "topic" }, h("a", { href: `#/dialogue/${row.key}` }, row.problem ?? row.pair), h("div", { class: "where" }, place)),
      h("td", { class: "number" }, row.void ? h("span", { class: "badge warn" }, "void") : h("span", { class: "reward" }, rewardBar(row.reward), signed(row.reward))),
      h("td", { class: "number", "data-label": "Δ" }, row.post === null ? "–" : signed(row.gain)),
      h("td", { class: "number", "data-label": "rate" }, row.post === null ? "–" : `${fixed(row.pre)} → ${fixed(row.post)}`),
      h("td", { "data-label": "handover" }, verdictBadge(row.leak)),
      h("td", { "data-label": "teaching" }, verdictBadge(row.teaching)),
      h("td", { class: "soft" }, label(row.end_reason)),
      h("td", { class: "number", "data-label": "turns" }, String(row.num_tutor_turns)));
  };

  const turn = (pages) => change(() => params.set("offset", String(Math.max(0, Number(params.get("offset") ?? 0) + pages * LIMIT))), { keepPage: true });

  const step = (by) => {
    const links = [...results.querySelectorAll("td.topic a")];
    const at = links.indexOf(document.activeElement?.closest("tr")?.querySelector("td.topic a"));
    const next = links[at === -1 ? 0 : at + by];
    next?.focus();
    next?.closest("tr").scrollIntoView({ block: "nearest" });
  };

  const search = h("input", {
    type: "search", value: params.get("text") ?? "", placeholder: "Search words, or a \"phrase\"", "aria-label": "Search dialogues",
    oninput: () => { clearTimeout(timer); timer = setTimeout(() => change(() => (search.value.trim() ? params.set("text", search.value) : params.delete("text"))), SEARCH_DELAY_MS); },
  });
  const where = h("select", { "aria-label": "Search in", onchange: () => change(() => (where.value ? params.set("text_in", where.value) : params.delete("text_in"))) },
    [["", "everywhere"], ["problem", "problem"], ["tutor", "tutor"], ["student", "student"], ["thinking", "thinking"], ["judge", "judge's reasons"]].map(([value, text]) => h("option", { value, selected: params.get("text_in") === value }, text)));
  const order = h("select", { onchange: () => change(() => { params.set("sort", order.value); params.set("descending", "true"); }) },
    [...new Set([...MORE_SORTS, ...HEAD.map(([, column]) => column).filter(Boolean)])].map((name) => h("option", { value: name, selected: (params.get("sort") ?? "newest") === name }, label(name))));

  const focusedKey = () => document.activeElement?.closest("tr")?.dataset.key;
  let panel = filterPanel(app, params, change);
  return {
    title: () => "Dialogues",
    content: () => {
      app.lastList = `#/dialogues?${params}`;
      return h("div", { class: "browse" }, panel,
        h("section", { "aria-label": "Dialogues" }, h("div", { class: "search" }, search, where),
          figures, h("label", { class: "sorting" }, "Order by", order), results));
    },
    shown: load,
    refresh: () => {
      const fresh = filterPanel(app, params, change);
      if (!panel.contains(document.activeElement)) { panel.replaceWith(fresh); panel = fresh; }
      load();
    },
    marksChanged: () => results.querySelectorAll("tr[data-key]").forEach((row) => { row.querySelector("input").checked = app.isMarked(row.dataset.key); }),
    close: () => { asking?.abort(); clearTimeout(timer); },
    keys: {
      "/": () => search.focus(), j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1), "[": () => turn(-1), "]": () => { if (app.order.total > Number(params.get("offset") ?? 0) + LIMIT) turn(1); },
      c: () => { const row = rows.find((one) => one.key === focusedKey()); if (row) app.toggleMark(row.key, markName(app, row)); },
    },
  };
}

function summary(app, steps, total) {
  const sum = (name) => steps.reduce((all, step) => all + (step[name] ?? 0), 0);
  const mean = (name, over) => (sum(over) ? sum(name) / sum(over) : null);
  const void_ = total - sum("num_scored");
  return [
    h("div", { class: "figures" }, h("b", {}, count(total, "dialogue")),
      h("span", {}, "reward ", h("b", {}, signed(mean("sum_reward", "num_scored")))), h("span", {}, "Δ ", h("b", {}, signed(mean("sum_gain", "num_tested")))),
      h("span", {}, "handed over ", h("b", {}, percent(mean("num_leaks", "num_judged")))), void_ ? h("span", { class: "bad" }, count(void_, "void", "void")) : null),
    development(app, steps) ?? "",
  ];
}

/** Mean reward over steps, one line per run and split. */
function development(app, steps) {
  const lines = new Map();
  for (const one of steps.filter((step) => step.step !== null && step.num_scored)) {
    const name = [app.state.runs.length > 1 ? app.runName(one.run) : "", one.grp].filter(Boolean).join(" · ");
    if (!lines.has(name)) lines.set(name, []);
    lines.get(name).push([one.step, one.sum_reward / one.num_scored]);
  }
  const series = [...lines].map(([name, points]) => ({ name, points })).filter((one) => one.points.length > 1).slice(0, 6);
  if (!series.length) return null;
  return h("figure", { class: "development" }, overSteps({ series, caption: "Mean reward of the dialogues shown, over training steps" }),
    h("figcaption", { class: "legend" }, "Mean reward", series.map((one, i) => h("span", { class: `series-${i}` }, h("i"), one.name))));
}
