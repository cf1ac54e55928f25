// Two dialogues side by side, in the same view.

import { heading, measured, spoken, VIEWS } from "./dialogue.js";
import { h } from "./dom.js";
import { badges, place } from "./reading.js";

export function comparePage(app, keys, params) {
  let sides = [];
  const bodies = [h("div"), h("div")];
  const show = (view) => {
    params.set("view", view);
    history.replaceState(null, "", `#/compare/${keys.join("/")}?${params}`);
    tabs.forEach((tab) => tab.setAttribute("aria-selected", String(tab.dataset.view === view)));
    bodies.forEach((body, i) => body.replaceChildren(...[spoken(sides[i], view)].flat()));
  };
  const tabs = VIEWS.map(([name, title]) => h("button", { type: "button", role: "tab", "data-view": name, onclick: () => show(name) }, title));
  return {
    title: () => "Two dialogues",
    content: async () => {
      sides = await Promise.all(keys.slice(0, 2).map((key) => app.get(`/api/dialogues/${encodeURIComponent(key)}`)));
      const same = sides[0].problem.text === sides[1].problem.text;
      const side = (data, i) => h("section", { class: "side", "aria-label": place(app, data) },
        h("div", { class: "head" }, badges(data), h("p", {}, h("a", { href: `#/dialogue/${keys[i]}` }, place(app, data))), same ? null : heading(data)), bodies[i], h("div", { class: "measured" }, measured(data)));
      return [
        h("nav", { class: "crumbs", "aria-label": "Comparison" }, h("a", { href: app.lastList }, "All dialogues"), h("span", { class: "soft" }, same ? "two dialogues about one problem" : "two dialogues")),
        same ? heading({ ...sides[0], void_reason: null }) : "",
        h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, tabs), h("div", { class: "pair" }, sides.map(side)),
      ].flat();
    },
    shown: () => show(VIEWS.some(([name]) => name === params.get("view")) ? params.get("view") : "tutor"),
    keys: Object.fromEntries(VIEWS.map(([name], i) => [String(i + 1), () => sides.length && show(name)])),
  };
}
