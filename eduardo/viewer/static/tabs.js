// The switch between the views of a dialogue, with the keys 1 to 5; the view stands in the address.

import { VIEWS } from "./dialogue.js";
import { h } from "./dom.js";

/** `show(view)` fills the page; `address` is the page's own, without parameters. */
export function viewTabs(params, address, show) {
  const choose = (view) => {
    params.set("view", view);
    history.replaceState(null, "", `${address}?${params}`);
    tabs.forEach((tab) => tab.setAttribute("aria-selected", String(tab.dataset.view === view)));
    show(view);
  };
  const tabs = VIEWS.map(([name, title]) =>
    h("button", { type: "button", role: "tab", "data-view": name, onclick: () => choose(name) }, title),
  );
  const wanted = params.get("view");
  return {
    element: h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, tabs),
    open: () => choose(VIEWS.some(([name]) => name === wanted) ? wanted : "tutor"),
    keys: Object.fromEntries(VIEWS.map(([name], i) => [String(i + 1), () => choose(name)])),
  };
}
