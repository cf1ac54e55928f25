// One problem over the training steps: every dialogue about it, as a dot and as a row.

import { overSteps } from "./charts.js";
import { verdictBadge } from "./dialogue.js";
import { h } from "./dom.js";
import { count, fixed, label, signed } from "./format.js";
import { markName } from "./list.js";

const MAX_ROWS = 500; // one page of the server: steps beyond are reached through the list

export function problemPage(app, _, params) {
  const body = h("div", { class: "reading" });
  let rows = [];
  const load = async () => {
    const query = new URLSearchParams([...params.getAll("run").map((run) => ["run", run]), ["pair", params.get("pair") ?? ""], ["sort", "step"], ["descending", "false"], ["limit", MAX_ROWS], ["with_steps", false]]);
    ({ rows } = await app.get("/api/dialogues", query));
    body.replaceChildren(...content(app, rows, params));
  };
  return {
    title: () => `Problem ${params.get("pair")}`,
    content: async () => { await load(); return body; },
    refresh: load,
    marksChanged: () => body.querySelectorAll("tr[data-key]").forEach((row) => { row.querySelector("input").checked = app.isMarked(row.dataset.key); }),
  };
}

function content(app, rows, params) {
  if (!rows.length) return [h("p", { class: "nothing" }, "No dialogue about this problem.")];
  const list = new URLSearchParams([["pair", params.get("pair")], ...params.getAll("run").map((run) => ["run", run])]);
  return [
    h("nav", { class: "crumbs", "aria-label": "Problem" }, h("a", { href: app.lastList }, "All dialogues"), h("span", { class: "soft" }, params.get("pair"))),
    h("p", { class: "problem" }, rows[0].problem ?? ""),
    h("p", { class: "answer" }, count(rows.length, "dialogue"), rows.length === MAX_ROWS ? " (the first ones)" : "", " · ", h("a", { href: `#/dialogues?${list}` }, "filter and sort them")),
    plot(app, rows), table(app, rows),
  ].filter(Boolean);
}

function plot(app, rows) {
  const scored = rows.filter((row) => row.step !== null && row.reward !== null);
  if (new Set(scored.map((row) => row.step)).size < 2) return null;
  const byStep = Map.groupBy(scored, (row) => row.step);
  const means = [...byStep].map(([step, group]) => [step, group.reduce((sum, row) => sum + row.reward, 0) / group.length]);
  const dots = [...byStep.values()].flatMap((group) => group.map((row, i) => ({
    step: row.step, value: row.reward, shift: (i - (group.length - 1) / 2) * 6, kind: row.leak === "reject" || row.teaching === "reject" ? "reject" : "",
    href: `#/dialogue/${row.key}`, title: `step ${row.step}, sample ${row.sample}: reward ${signed(row.reward)}`,
  })));
  return h("figure", { class: "plot" }, overSteps({ series: [{ name: "mean", points: means }], dots, caption: "Reward of each dialogue about this problem, over training steps", height: 210 }),
    h("figcaption", { class: "small soft" }, "Reward of each dialogue; the line is their mean, red dots were rejected by the judge."));
}

function table(app, rows) {
  const row = (one) => h("tr", { "data-key": one.key },
    h("td", { class: "pick" }, h("input", { type: "checkbox", "aria-label": "mark for comparison", checked: app.isMarked(one.key), onchange: () => app.toggleMark(one.key, markName(app, one)) })),
    h("td", {}, h("a", { href: `#/dialogue/${one.key}` }, [app.state.runs.length > 1 ? app.runName(one.run) : "", one.grp, one.step === null ? "" : `step ${one.step}`, `sample ${one.sample ?? "–"}`].filter(Boolean).join(" · "))),
    h("td", { class: "number", "data-label": "reward" }, one.void ? "void" : signed(one.reward)), h("td", { class: "number", "data-label": "after" }, fixed(one.post)),
    h("td", { "data-label": "handover" }, verdictBadge(one.leak)), h("td", { "data-label": "teaching" }, verdictBadge(one.teaching)),
    h("td", { class: "soft" }, label(one.end_reason)), h("td", { class: "number", "data-label": "turns" }, String(one.num_tutor_turns)));
  const head = ["", "Dialogue", "Reward", "After", "Handover", "Teaching", "Ended", "Turns"];
  return h("table", { class: "list" }, h("thead", {}, h("tr", {}, head.map((title) => h("th", { scope: "col", class: ["Reward", "After", "Turns"].includes(title) ? "number" : "" }, title)))), h("tbody", {}, rows.map(row)));
}
