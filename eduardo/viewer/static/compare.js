// Two dialogues side by side, in the same view.

import { heading, spoken } from "./dialogue.js";
import { h } from "./dom.js";
import { measured } from "./measured.js";
import { badges } from "./reading.js";
import { place } from "./rows.js";
import { viewTabs } from "./tabs.js";

export function comparePage(app, keys, params) {
  const bodies = [h("div"), h("div")];
  let sides = [];
  const show = (view) => bodies.forEach((body, i) => body.replaceChildren(...[spoken(sides[i], view)].flat()));
  const tabs = viewTabs(params, `#/compare/${keys.join("/")}`, show);
  const page = {
    title: () => "Two dialogues",
    content: async () => {
      const asked = keys.slice(0, 2).map((key) => app.get(`/api/dialogues/${encodeURIComponent(key)}`));
      sides = await Promise.all(asked);
      page.keys = tabs.keys;
      const same = sides[0].problem.text === sides[1].problem.text;
      const side = (data, i) => sideOf(app, data, bodies[i], { withProblem: !same });
      return [
        crumbs(app, same ? "two dialogues about one problem" : "two dialogues"),
        same ? heading({ ...sides[0], void_reason: null }) : "",
        tabs.element,
        h("div", { class: "pair" }, sides.map(side)),
      ].flat();
    },
    shown: tabs.open,
    keys: {},
  };
  return page;
}

function crumbs(app, what) {
  const back = h("a", { href: app.lastList }, "All dialogues");
  return h("nav", { class: "crumbs", "aria-label": "Comparison" }, back, h("span", { class: "soft" }, what));
}

function sideOf(app, data, body, { withProblem }) {
  const where = place(app, data);
  const link = h("p", {}, h("a", { href: `#/dialogue/${data.key}` }, where));
  return h(
    "section",
    { class: "side", "aria-label": where },
    h("div", { class: "head" }, badges(data), link, withProblem ? heading(data) : null),
    body,
    h("div", { class: "measured" }, measured(data)),
  );
}
