// The page of one dialogue.

import { availableViews, heading, measured, spoken, verdictBadge, VIEWS } from "./dialogue.js";
import { h, searchTerms } from "./dom.js";
import { label, signed } from "./format.js";
import { markName } from "./list.js";

export function dialoguePage(app, [key], params) {
  let data = null;
  const main = h("div", { class: "shown" });
  const terms = searchTerms(app.order?.params.get("text") ?? "");
  const mark = h("button", { type: "button", onclick: () => app.toggleMark(key, markName(app, data)) });

  const show = (view) => {
    params.set("view", view);
    history.replaceState(null, "", `#/dialogue/${key}?${params}`);
    tabs.forEach((tab) => tab.setAttribute("aria-selected", String(tab.dataset.view === view)));
    main.replaceChildren(h("p", { class: "view-note small soft" }, VIEWS.find(([name]) => name === view)[2]), ...[spoken(data, view, terms)].flat());
  };
  const tabs = VIEWS.map(([name, title]) => h("button", { type: "button", role: "tab", "data-view": name, onclick: () => show(name) }, title));
  const marksChanged = () => { mark.textContent = app.isMarked(key) ? "Marked" : "Mark to compare"; mark.setAttribute("aria-pressed", String(app.isMarked(key))); };

  /** The dialogue before or after this one in the list that it was opened from, also over its pages. */
  const move = async (by) => {
    const { order } = app;
    const at = order?.keys.indexOf(key) ?? -1;
    if (at === -1) return;
    const start = Number(order.params.get("offset") ?? 0);
    if (order.keys[at + by]) location.hash = `#/dialogue/${order.keys[at + by]}?${params}`;
    else if (start + at + by >= 0 && start + at + by < order.total) {
      order.params.set("offset", String(Math.max(0, start + by * 50)));
      const { rows } = await app.get("/api/dialogues", new URLSearchParams([...order.params, ["limit", 50], ["with_steps", false]]));
      app.lastList = `#/dialogues?${order.params}`;
      app.order = { ...order, keys: rows.map((row) => row.key) };
      const next = by > 0 ? app.order.keys[0] : app.order.keys.at(-1);
      if (next) location.hash = `#/dialogue/${next}?${params}`;
    }
  };
  const problemAddress = () => `#/problem?pair=${encodeURIComponent(data.pair)}&run=${data.run}`;

  return {
    title: () => `${label(data.grp)} ${data.step ?? ""} ${signed(data.reward?.total)}`,
    content: async () => {
      data = await app.get(`/api/dialogues/${encodeURIComponent(key)}`);
      marksChanged();
      return h("div", { class: "reading" },
        h("nav", { class: "crumbs", "aria-label": "Dialogue" }, h("a", { href: app.lastList }, "All dialogues"), h("span", { class: "soft" }, place(app, data)), h("span", { class: "gap" }),
          h("a", { href: problemAddress() }, "This problem over the steps"), mark,
          app.order?.keys.includes(key) ? [h("button", { type: "button", onclick: () => move(-1) }, "Previous"), h("button", { type: "button", onclick: () => move(1) }, "Next")] : null),
        h("article", { class: "dialogue" },
          h("div", { class: "spoken" }, badges(data), heading(data, terms), h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, tabs.slice(0, availableViews(data).length)), main),
          h("div", { class: "measured" }, measured(data))));
    },
    shown: () => show(VIEWS.some(([name]) => name === params.get("view")) ? params.get("view") : "tutor"),
    marksChanged,
    keys: {
      j: () => move(1), k: () => move(-1), c: () => data && app.toggleMark(key, markName(app, data)), p: () => { if (data) location.hash = problemAddress(); },
      ...Object.fromEntries(VIEWS.map(([name], i) => [String(i + 1), () => data && show(name)])),
    },
  };
}

/** Run, group, step and sample in one line. */
export function place(app, data) {
  return [app.runName(data.run), data.grp, data.step === null ? "" : `step ${data.step}`, data.sample === null ? "" : `sample ${data.sample}`].filter(Boolean).join(" · ");
}

/** The outcome at a glance. */
export function badges(data) {
  const decision = (criterion) => data.verdicts.find((verdict) => verdict.criterion === criterion);
  const badge = (name, criterion) => h("span", {}, h("span", { class: "soft small" }, `${name} `), verdictBadge(decision(criterion) ? decision(criterion).decision ?? "undecided" : "not judged"));
  return h("div", { class: "heading" }, h("h1", {}, data.reward ? `Reward ${signed(data.reward.total)}` : "Void"), badge("handover", "no_handover"), badge("teaching", "factual_correctness"),
    h("span", { class: "soft small" }, `ended: ${label(data.end_reason)}`));
}
