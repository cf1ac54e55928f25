// The list: filters on the left; what is left over, in an order, on the right.

import { h } from "./dom.js";
import { summary } from "./figures.js";
import { filterPanel } from "./filters.js";
import { label } from "./format.js";
import { listRow, markName, showMarks } from "./rows.js";

export const PAGE_SIZE = 50;
const SEARCH_DELAY_MS = 180;
const NOT_FILTERS = ["sort", "descending", "offset"];
const HEAD = [
  { title: "Problem" },
  { title: "Reward", column: "reward", number: true },
  { title: "Δ", column: "gain", number: true },
  { title: "Cold → after", column: "post", number: true },
  { title: "Handover", column: "leak" },
  { title: "Teaching", column: "teaching" },
  { title: "Ended", column: "end_reason" },
  { title: "Turns", column: "num_tutor_turns", number: true },
];
const SORTS = [
  ...[
    "newest",
    "step",
    "pair",
    "reward",
    "gain",
    "length_decay",
    "gate",
    "end_bonus",
    "end_penalty",
    "thinking_bonus",
  ],
  ...["post", "leak", "teaching", "end_reason", "num_tutor_turns", "visible_tokens", "thinking_tokens"],
];
const PLACES = [
  ["", "everywhere"],
  ["problem", "problem"],
  ["tutor", "tutor"],
  ["student", "student"],
  ["thinking", "thinking"],
  ["judge", "judge's reasons"],
];

export const listPage = (app, _, params) => new ListPage(app, params);

class ListPage {
  constructor(app, params) {
    Object.assign(this, { app, params, rows: [], total: 0, summed: null, asking: null, timer: 0 });
    this.figures = h("div");
    this.results = h("div", { "aria-live": "polite" });
    this.search = this.searchField();
    this.order = this.orderField();
    this.panel = this.filters();
    this.keys = {
      "/": () => this.search.focus(),
      j: () => this.step(1),
      k: () => this.step(-1),
      ArrowDown: () => this.step(1),
      ArrowUp: () => this.step(-1),
      "[": () => this.offset > 0 && this.turn(-1),
      "]": () => this.offset + PAGE_SIZE < this.total && this.turn(1),
      c: () => this.markFocused(),
    };
  }

  title() {
    return "Dialogues";
  }

  content() {
    this.app.lastList = this.address;
    const where = this.whereField();
    return h(
      "div",
      { class: "browse" },
      this.panel,
      h(
        "section",
        { "aria-label": "Dialogues" },
        h("div", { class: "search" }, this.search, where),
        this.figures,
        h("label", { class: "sorting" }, "Order by", this.order),
        this.results,
      ),
    );
  }

  shown() {
    this.load();
  }

  refresh() {
    if (!this.panel.contains(document.activeElement)) {
      const fresh = this.filters();
      this.panel.replaceWith(fresh);
      this.panel = fresh;
    }
    this.load();
  }

  close() {
    this.asking?.abort();
    clearTimeout(this.timer);
  }

  marksChanged() {
    showMarks(this.app, this.results);
  }

  get address() {
    return `#/dialogues?${this.params}`;
  }

  get offset() {
    return Number(this.params.get("offset") ?? 0);
  }

  /** Edit the parameters, show them in the address, and ask again from the first page on. */
  change = (edit, { keepPage = false } = {}) => {
    edit(this.params);
    if (!keepPage) this.params.delete("offset");
    this.app.lastList = this.address;
    history.replaceState(null, "", this.address);
    this.load();
  };

  async load() {
    this.asking?.abort();
    this.asking = new AbortController();
    // The figures stay as they are while only order and page change.
    const filter = `${this.app.state.version} ${[...this.params].filter(([name]) => !NOT_FILTERS.includes(name))}`;
    const wanted = [...this.params, ["limit", PAGE_SIZE], ["with_steps", filter !== this.summed]];
    try {
      const found = await this.app.get("/api/dialogues", new URLSearchParams(wanted), this.asking.signal);
      if (found.steps) {
        this.summed = filter;
        this.total = found.steps.reduce((sum, step) => sum + step.num, 0);
        this.figures.replaceChildren(...summary(this.app, found.steps, this.total));
      }
      this.show(found.rows);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.results.replaceChildren(h("p", { class: "notice bad", role: "alert" }, error.message));
    }
  }

  show(rows) {
    const focused = this.focusedKey();
    this.rows = rows;
    this.app.order = {
      params: new URLSearchParams(this.params),
      keys: rows.map((row) => row.key),
      total: this.total,
    };
    this.results.replaceChildren(...this.table());
    if (focused) this.results.querySelector(`tr[data-key="${focused}"] a`)?.focus({ preventScroll: true });
  }

  table() {
    if (!this.total) {
      const none = "No dialogues yet. They appear here as they are recorded.";
      return [h("p", { class: "nothing" }, this.params.size ? "No dialogue fits these filters." : none)];
    }
    const box = h("th", {}, h("span", { class: "skip" }, "Compare"));
    const head = HEAD.map((column) => this.headCell(column));
    const rows = this.rows.map((row) => listRow(this.app, row));
    return [
      h("table", { class: "list" }, h("thead", {}, h("tr", {}, box, head)), h("tbody", {}, rows)),
      this.pager(),
    ];
  }

  headCell({ title, column, number }) {
    if (!column) return h("th", { scope: "col" }, title);
    const sorted = this.params.get("sort") === column;
    const descending = this.params.get("descending") !== "false";
    const order = sorted ? (descending ? "descending" : "ascending") : null;
    const arrow = { descending: " ↓", ascending: " ↑" }[order] ?? "";
    const sort = () => this.sortBy(column, sorted ? !descending : true);
    const button = h("button", { type: "button", onclick: sort }, title + arrow);
    return h("th", { scope: "col", class: number ? "number" : "", "aria-sort": order }, button);
  }

  pager() {
    const [first, last] = [this.offset + 1, this.offset + this.rows.length].map((one) => one.toLocaleString("en"));
    const more = this.offset + this.rows.length < this.total;
    return h(
      "div",
      { class: "pager" },
      h("button", { type: "button", disabled: this.offset === 0, onclick: () => this.turn(-1) }, "Previous"),
      h("span", { class: "soft" }, `${first}–${last} of ${this.total.toLocaleString("en")}`),
      h("button", { type: "button", disabled: !more, onclick: () => this.turn(1) }, "Next"),
    );
  }

  sortBy(column, descending) {
    this.change((params) => {
      params.set("sort", column);
      params.set("descending", String(descending));
    });
    this.order.value = column;
  }

  turn(pages) {
    const offset = Math.max(0, this.offset + pages * PAGE_SIZE);
    this.change((params) => params.set("offset", String(offset)), { keepPage: true });
  }

  /** Move the focus by some rows; without one, to the first. */
  step(by) {
    const links = [...this.results.querySelectorAll("td.topic a")];
    const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
    const next = links[at === -1 ? 0 : at + by];
    next?.focus();
    next?.closest("tr").scrollIntoView({ block: "nearest" });
  }

  focusedKey() {
    return document.activeElement?.closest("tr")?.dataset.key;
  }

  markFocused() {
    const row = this.rows.find((one) => one.key === this.focusedKey());
    if (row) this.app.toggleMark(row.key, markName(this.app, row));
  }

  filters() {
    return filterPanel(this.app, this.params, this.change);
  }

  /** Set a parameter, or take it away when there is no value. */
  set(name, value) {
    this.change((params) => (value.trim() ? params.set(name, value) : params.delete(name)));
  }

  searchField() {
    const later = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.set("text", this.search.value), SEARCH_DELAY_MS);
    };
    return h("input", {
      type: "search",
      value: this.params.get("text") ?? "",
      placeholder: 'Search words, or a "phrase"',
      "aria-label": "Search dialogues",
      oninput: later,
    });
  }

  whereField() {
    const chosen = this.params.get("text_in") ?? "";
    const options = PLACES.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
    const choose = (event) => this.set("text_in", event.target.value);
    return h("select", { "aria-label": "Search in", onchange: choose }, options);
  }

  orderField() {
    const chosen = this.params.get("sort") ?? "newest";
    const options = SORTS.map((name) => h("option", { value: name, selected: name === chosen }, label(name)));
    return h("select", { onchange: (event) => this.sortBy(event.target.value, true) }, options);
  }
}
