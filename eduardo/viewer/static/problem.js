// One problem over the training steps: every dialogue about it, as a dot and as a row.

import { overSteps } from "./charts.js";
import { h } from "./dom.js";
import { count, fixed, signed } from "./format.js";
import { outcome, pick, place, showMarks } from "./rows.js";

const MAX_ROWS = 500; // one page of the server: steps beyond are reached through the list
const HEAD = ["", "Dialogue", "Reward", "After", "Handover", "Teaching", "Ended", "Turns"];
const NUMBERS = ["Reward", "After", "Turns"];

export function problemPage(app, _, params) {
  const body = h("div", { class: "reading" });
  const load = async () => {
    const order = { sort: "step", descending: false, limit: MAX_ROWS, with_steps: false };
    const query = new URLSearchParams([...selection(params), ...Object.entries(order)]);
    const { rows } = await app.get("/api/dialogues", query);
    body.replaceChildren(...content(app, rows, params));
    return body;
  };
  return {
    title: () => `Problem ${params.get("pair")}`,
    content: load,
    refresh: load,
    marksChanged: () => showMarks(app, body),
  };
}

/** The filter that leaves this problem's dialogues. */
function selection(params) {
  return [["pair", params.get("pair") ?? ""], ...params.getAll("run").map((run) => ["run", run])];
}

function content(app, rows, params) {
  if (!rows.length) return [h("p", { class: "nothing" }, "No dialogue about this problem.")];
  const list = `#/dialogues?${new URLSearchParams(selection(params))}`;
  const number = count(rows.length, "dialogue") + (rows.length === MAX_ROWS ? " (the first ones)" : "");
  return [
    h(
      "nav",
      { class: "crumbs", "aria-label": "Problem" },
      h("a", { href: app.lastList }, "All dialogues"),
      h("span", { class: "soft" }, params.get("pair")),
    ),
    h("p", { class: "problem" }, rows[0].problem ?? ""),
    h("p", { class: "answer" }, number, " · ", h("a", { href: list }, "filter and sort them")),
    plot(rows) ?? "",
    table(app, rows),
  ];
}

/** Rewards over steps; null unless there are several steps. */
function plot(rows) {
  const byStep = new Map();
  for (const row of rows.filter((one) => one.step !== null && one.reward !== null)) {
    byStep.set(row.step, [...(byStep.get(row.step) ?? []), row]);
  }
  if (byStep.size < 2) return null;
  const mean = (group) => group.reduce((sum, row) => sum + row.reward, 0) / group.length;
  const points = [...byStep].map(([step, group]) => [step, mean(group)]);
  const dots = [...byStep.values()].flatMap((group) => group.map((row, i) => dot(row, i, group.length)));
  const caption = "Reward of each dialogue about this problem, over training steps";
  const note = "Reward of each dialogue; the line is their mean, red dots were rejected by the judge.";
  return h(
    "figure",
    { class: "plot" },
    overSteps({ series: [{ name: "mean", points }], dots, caption, height: 210 }),
    h("figcaption", { class: "small soft" }, note),
  );
}

/** Dialogues of one step stand beside each other. */
function dot(row, index, number) {
  return {
    step: row.step,
    value: row.reward,
    shift: (index - (number - 1) / 2) * 6,
    kind: row.leak === "reject" || row.teaching === "reject" ? "reject" : "",
    href: `#/dialogue/${row.key}`,
    title: `step ${row.step}, sample ${row.sample}: reward ${signed(row.reward)}`,
  };
}

function table(app, rows) {
  const cell = (title) => h("th", { scope: "col", class: NUMBERS.includes(title) ? "number" : "" }, title);
  const body = rows.map((row) =>
    h(
      "tr",
      { "data-key": row.key },
      pick(app, row),
      h("td", {}, h("a", { href: `#/dialogue/${row.key}` }, place(app, row))),
      h("td", { class: "number", "data-label": "reward" }, row.void ? "void" : signed(row.reward)),
      h("td", { class: "number", "data-label": "after" }, fixed(row.post)),
      outcome(row),
    ),
  );
  return h("table", { class: "list" }, h("thead", {}, h("tr", {}, HEAD.map(cell))), h("tbody", {}, body));
}
