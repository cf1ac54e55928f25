// What the dialogues of a list amount to: a line of figures, and how the mean reward moved over steps.

import { overSteps } from "./charts.js";
import { h } from "./dom.js";
import { count, percent, signed } from "./format.js";

const MAX_LINES = 6;

/** `steps`: counts and sums per run, group and step, as the server gives them. */
export function summary(app, steps, total) {
  const sum = (name) => steps.reduce((all, step) => all + (step[name] ?? 0), 0);
  const mean = (name, over) => (sum(over) ? sum(name) / sum(over) : null);
  const numVoid = total - sum("num_scored");
  const figures = [
    h("b", {}, count(total, "dialogue")),
    h("span", {}, "reward ", h("b", {}, signed(mean("sum_reward", "num_scored")))),
    h("span", {}, "Δ ", h("b", {}, signed(mean("sum_gain", "num_tested")))),
    h("span", {}, "handed over ", h("b", {}, percent(mean("num_leaks", "num_judged")))),
    numVoid ? h("span", { class: "bad" }, count(numVoid, "void", "void")) : null,
  ];
  return [h("div", { class: "figures" }, figures), development(app, steps) ?? ""];
}

/** Mean reward over steps, one line per run and split; null when there is nothing to follow. */
function development(app, steps) {
  const lines = new Map();
  for (const one of steps.filter((step) => step.step !== null && step.num_scored)) {
    const name = [app.state.runs.length > 1 ? app.runName(one.run) : "", one.grp].filter(Boolean).join(" · ");
    lines.set(name, [...(lines.get(name) ?? []), [one.step, one.sum_reward / one.num_scored]]);
  }
  const series = [...lines].map(([name, points]) => ({ name, points }));
  const shown = series.filter((one) => one.points.length > 1).slice(0, MAX_LINES);
  if (!shown.length) return null;
  const caption = "Mean reward of the dialogues shown, over training steps";
  return h(
    "figure",
    { class: "development" },
    overSteps({ series: shown, caption }),
    h(
      "figcaption",
      { class: "legend" },
      "Mean reward",
      shown.map((one, i) => h("span", { class: `series-${i}` }, h("i"), one.name)),
    ),
  );
}
