// Dialogues as the rows of a table.

import { rewardBar } from "./charts.js";
import { h } from "./dom.js";
import { fixed, label, signed } from "./format.js";
import { verdictBadge } from "./measured.js";

/** Run, group, step and sample in one line; the run is left out where there is only one. */
export function place(app, row) {
  const parts = [
    app.state.runs.length > 1 ? app.runName(row.run) : "",
    row.grp,
    row.step === null ? "" : `step ${row.step}`,
    row.sample === null ? "" : `sample ${row.sample}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** What a mark for comparison is called: where the dialogue comes from, and what it earned. */
export function markName(app, row) {
  return `${place(app, row)} · ${signed(row.reward?.total ?? row.reward)}`;
}

/** The cell with the box that marks a dialogue for comparison. */
export function pick(app, row) {
  const box = h("input", {
    type: "checkbox",
    "aria-label": "mark for comparison",
    checked: app.isMarked(row.key),
    onchange: () => app.toggleMark(row.key, markName(app, row)),
  });
  return h("td", { class: "pick" }, box);
}

/** Set the boxes of a table as the marks are now. */
export function showMarks(app, table) {
  for (const row of table.querySelectorAll("tr[data-key]")) {
    row.querySelector("input").checked = app.isMarked(row.dataset.key);
  }
}

/** The cells that every table of dialogues has: verdicts, end and turns. */
export function outcome(row) {
  return [
    h("td", { "data-label": "handover" }, verdictBadge(row.leak)),
    h("td", { "data-label": "teaching" }, verdictBadge(row.teaching)),
    h("td", { class: "soft" }, label(row.end_reason)),
    h("td", { class: "number", "data-label": "turns" }, String(row.num_tutor_turns)),
  ];
}

/** A row of the list, with the problem's text. */
export function listRow(app, row) {
  const reward = row.void
    ? h("span", { class: "badge warn" }, "void")
    : h("span", { class: "reward" }, rewardBar(row.reward), signed(row.reward));
  const tested = row.post !== null;
  return h(
    "tr",
    { "data-key": row.key },
    pick(app, row),
    h(
      "td",
      { class: "topic" },
      h("a", { href: `#/dialogue/${row.key}` }, row.problem ?? row.pair),
      h("div", { class: "where" }, place(app, row)),
    ),
    h("td", { class: "number" }, reward),
    h("td", { class: "number", "data-label": "Δ" }, tested ? signed(row.gain) : "–"),
    h("td", { class: "number", "data-label": "rate" }, tested ? `${fixed(row.pre)} → ${fixed(row.post)}` : "–"),
    outcome(row),
  );
}
