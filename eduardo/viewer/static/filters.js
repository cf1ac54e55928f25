// The filter panel. Every control edits the parameters of the address, which are those of the server's question.

import { h } from "./dom.js";
import { count, label } from "./format.js";

const WIDE = matchMedia("(min-width: 56.01rem)");

const VALIDITY = [["", "all"], ["false", "scored"], ["true", "void"]]; // prettier-ignore
const DETECTOR = [["", "all"], ["true", "found a leak"], ["false", "found none"]]; // prettier-ignore

export function filterPanel(app, params, change) {
  const runs = app.state.runs.map((run) => [String(run.id), run.name, runSize(app, run.id)]);
  const column = (title, name) => choices(title, name, options(app, params, name), params, change);
  const controls = [
    choices("Run", "run", runs, params, change),
    column("Split or tutor", "grp"),
    pairNotice(params, change),
    stepRange(params, change),
    column("Handover", "leak"),
    column("Teaching", "teaching"),
    column("Ended by", "end_reason"),
    oneOf("Validity", "void", VALIDITY, params, change),
    oneOf("Leak detector", "detector", DETECTOR, params, change),
    numbers(app, params, change),
    h("p", {}, h("a", { href: "#/dialogues" }, "Clear all filters")),
  ];
  const form = h("form", { class: "filters", onsubmit: (event) => event.preventDefault() }, controls);
  return h("details", { class: "filter-box", open: WIDE.matches }, h("summary", {}, "Filters"), form);
}

function runSize(app, id) {
  return app.state.facets
    .filter((facet) => facet.name === "grp" && facet.run === id)
    .reduce((sum, facet) => sum + facet.num, 0);
}

/** Values of one column with their counts over the chosen runs. */
function options(app, params, name) {
  const runs = params.getAll("run").map(Number);
  const counts = new Map();
  for (const facet of app.state.facets) {
    if (facet.name === name && (!runs.length || runs.includes(facet.run)))
      counts.set(facet.value, (counts.get(facet.value) ?? 0) + facet.num);
  }
  return [...counts].sort().map(([value, number]) => [value, label(value), number]);
}

function choices(title, name, values, params, change) {
  if (values.length < 2 && !params.has(name)) return null;
  const toggle = (value, on) =>
    change(() => {
      const kept = params.getAll(name).filter((other) => other !== value);
      params.delete(name);
      [...kept, ...(on ? [value] : [])].forEach((one) => params.append(name, one));
    });
  return h(
    "fieldset",
    {},
    h("legend", {}, title),
    values.map(([value, text, number]) =>
      h(
        "label",
        { class: "option" },
        h("input", {
          type: "checkbox",
          checked: params.getAll(name).includes(value),
          onchange: (event) => toggle(value, event.target.checked),
        }),
        h("span", {}, text),
        h("span", { class: "count" }, number.toLocaleString("en")),
      ),
    ),
  );
}

function oneOf(title, name, values, params, change) {
  const choose = (value) => change(() => (value ? params.set(name, value) : params.delete(name)));
  return h(
    "fieldset",
    {},
    h("legend", {}, title),
    values.map(([value, text]) =>
      h(
        "label",
        { class: "option" },
        h("input", {
          type: "radio",
          name,
          checked: (params.get(name) ?? "") === value,
          onchange: () => choose(value),
        }),
        h("span", {}, text),
      ),
    ),
  );
}

function pairNotice(params, change) {
  if (!params.has("pair")) return null;
  const drop = (event) => {
    event.target.closest("fieldset").remove();
    change(() => params.delete("pair"));
  };
  return h(
    "fieldset",
    {},
    h("legend", {}, "Problem"),
    h(
      "p",
      {},
      params.get("pair"),
      " ",
      h("button", { type: "button", class: "plain", onclick: drop }, "all problems"),
    ),
  );
}

function bound(params, column, sign) {
  const start = column + sign;
  return (
    params
      .getAll("bound")
      .find((one) => one.startsWith(start))
      ?.slice(start.length) ?? ""
  );
}

function boundInput(params, change, column, sign, name) {
  const set = (event) =>
    change(() => {
      const others = params.getAll("bound").filter((one) => !one.startsWith(column + sign));
      params.delete("bound");
      const value = event.target.value.trim();
      [...others, ...(value === "" ? [] : [column + sign + value])].forEach((one) => params.append("bound", one));
    });
  return h("input", {
    type: "number",
    step: "any",
    value: bound(params, column, sign),
    "aria-label": name,
    placeholder: sign === ">=" ? "from" : "to",
    onchange: set,
  });
}

function stepRange(params, change) {
  return h(
    "fieldset",
    {},
    h("legend", {}, "Step"),
    h(
      "div",
      { class: "bounds" },
      h("span", {}, "between"),
      boundInput(params, change, "step", ">=", "first step"),
      boundInput(params, change, "step", "<=", "last step"),
    ),
  );
}

function numbers(app, params, change) {
  const used = params.getAll("bound").filter((one) => !one.startsWith("step")).length;
  return h(
    "details",
    { open: used > 0 },
    h("summary", {}, "Reward parts and lengths", used ? ` (${count(used, "bound")})` : ""),
    h(
      "div",
      { class: "bounds" },
      app.state.numbers.map((name) => [
        h("span", {}, label(name)),
        boundInput(params, change, name, ">=", `${label(name)} from`),
        boundInput(params, change, name, "<=", `${label(name)} to`),
      ]),
    ),
  );
}
