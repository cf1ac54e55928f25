// The page of one dialogue.

import { heading, spoken, VIEWS } from "./dialogue.js";
import { h, searchTerms } from "./dom.js";
import { label, signed } from "./format.js";
import { PAGE_SIZE } from "./list.js";
import { measured, verdictBadge } from "./measured.js";
import { markName, place } from "./rows.js";
import { viewTabs } from "./tabs.js";

export const dialoguePage = (app, [key], params) => new DialoguePage(app, key, params);

class DialoguePage {
  constructor(app, key, params) {
    Object.assign(this, { app, key, params, data: null, keys: {} });
    this.terms = searchTerms(app.order?.params.get("text") ?? "");
    this.body = h("div", { class: "shown" });
    this.tabs = viewTabs(params, `#/dialogue/${key}`, (view) => this.show(view));
    this.mark = h("button", { type: "button", onclick: () => this.toggleMark() });
  }

  title() {
    return `${label(this.data.grp)} ${this.data.step ?? ""} ${signed(this.data.reward?.total)}`;
  }

  async content() {
    this.data = await this.app.get(`/api/dialogues/${encodeURIComponent(this.key)}`);
    this.keys = {
      ...this.tabs.keys,
      j: () => this.move(1),
      k: () => this.move(-1),
      c: () => this.toggleMark(),
      p: () => (location.hash = this.problemAddress()),
    };
    this.marksChanged();
    const said = [badges(this.data), heading(this.data, this.terms), this.tabs.element, this.body];
    const sides = [h("div", { class: "spoken" }, said), h("div", { class: "measured" }, measured(this.data))];
    return h("div", { class: "reading" }, this.crumbs(), h("article", { class: "dialogue" }, sides));
  }

  shown() {
    this.tabs.open();
  }

  show(view) {
    const note = VIEWS.find(([name]) => name === view)[2];
    const said = [spoken(this.data, view, this.terms)].flat();
    this.body.replaceChildren(h("p", { class: "view-note small soft" }, note), ...said);
  }

  crumbs() {
    const step = (by, title) => h("button", { type: "button", onclick: () => this.move(by) }, title);
    const inList = this.app.order?.keys.includes(this.key);
    return h(
      "nav",
      { class: "crumbs", "aria-label": "Dialogue" },
      h("a", { href: this.app.lastList }, "All dialogues"),
      h("span", { class: "soft" }, place(this.app, this.data)),
      h("span", { class: "gap" }),
      h("a", { href: this.problemAddress() }, "This problem over the steps"),
      this.mark,
      inList ? [step(-1, "Previous"), step(1, "Next")] : null,
    );
  }

  problemAddress() {
    return `#/problem?pair=${encodeURIComponent(this.data.pair)}&run=${this.data.run}`;
  }

  toggleMark() {
    this.app.toggleMark(this.key, markName(this.app, this.data));
  }

  marksChanged() {
    const marked = this.app.isMarked(this.key);
    this.mark.textContent = marked ? "Marked" : "Mark to compare";
    this.mark.setAttribute("aria-pressed", String(marked));
  }

  /** Go to the dialogue before or after this one in the list that it was opened from, also over its pages. */
  async move(by) {
    const { order } = this.app;
    const at = order?.keys.indexOf(this.key) ?? -1;
    if (at === -1) return;
    const position = Number(order.params.get("offset") ?? 0) + at + by;
    if (position < 0 || position >= order.total) return;
    if (!order.keys[at + by]) await this.turnList(position);
    const next = this.app.order.keys[position % PAGE_SIZE];
    if (next) location.hash = `#/dialogue/${next}?${this.params}`;
  }

  /** Take the page of the list that holds a position. */
  async turnList(position) {
    const { order } = this.app;
    order.params.set("offset", String(position - (position % PAGE_SIZE)));
    const query = new URLSearchParams([...order.params, ["limit", PAGE_SIZE], ["with_steps", false]]);
    const { rows } = await this.app.get("/api/dialogues", query);
    this.app.lastList = `#/dialogues?${order.params}`;
    this.app.order = { ...order, keys: rows.map((row) => row.key) };
  }
}

/** The outcome at a glance. */
export function badges(data) {
  const badge = (name, criterion) => {
    const verdict = data.verdicts.find((one) => one.criterion === criterion);
    const decision = verdict ? (verdict.decision ?? "undecided") : "not judged";
    return h("span", {}, h("span", { class: "soft small" }, `${name} `), verdictBadge(decision));
  };
  return h(
    "div",
    { class: "heading" },
    h("h1", {}, data.reward ? `Reward ${signed(data.reward.total)}` : "Void"),
    badge("handover", "no_handover"),
    badge("teaching", "factual_correctness"),
    h("span", { class: "soft small" }, `ended: ${label(data.end_reason)}`),
  );
}
