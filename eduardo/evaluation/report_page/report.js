// Opens the dialogues that the report carries, and narrows their table.
import { heading, spoken } from "./dialogue.js";
import { h } from "./dom.js";
import { label, signed } from "./format.js";
import { measured } from "./measured.js";

const report = document.getElementById("report"),
  reader = document.getElementById("reader");
const carried = [...document.querySelectorAll("script[type='application/gzip']")];
const rowsShown = [...document.querySelectorAll("#rows tbody tr")];

async function unpack(chunk) {
  const bytes = Uint8Array.from(atob(chunk.textContent), (char) => char.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

async function readDialogue(index) {
  const chunk = carried.findLast((one) => Number(one.dataset.first) <= index);
  return (await unpack(chunk))[index - Number(chunk.dataset.first)];
}

const opened = () => (/^#d\d+$/.test(location.hash) ? Number(location.hash.slice(2)) : null);

/** The dialogue `by` rows further in the table, among those that are shown. */
function moveBy(by) {
  const visible = rowsShown
    .map((row, i) => [row, i])
    .filter(([row]) => !row.hidden)
    .map(([, i]) => i);
  const next = visible[visible.indexOf(opened()) + by];
  if (next !== undefined) location.hash = `#d${next}`;
}

async function follow() {
  const index = opened();
  const reading = index !== null && index < rowsShown.length;
  report.hidden = reading;
  reader.hidden = !reading;
  if (!reading) return;
  const data = await readDialogue(index);
  const place = [
    data.grp,
    data.labels.step === undefined ? "" : `step ${data.labels.step}`,
    data.labels.sample === undefined ? "" : `sample ${data.labels.sample}`,
  ];
  reader.replaceChildren(
    h(
      "nav",
      { class: "crumbs", "aria-label": "Dialogue" },
      h("a", { href: "#dialogues" }, "Back to the report"),
      h("span", { class: "soft" }, place.filter(Boolean).join(" · ")),
      h("span", { class: "gap" }),
      h("button", { type: "button", onclick: () => moveBy(-1) }, "Previous"),
      h("button", { type: "button", onclick: () => moveBy(1) }, "Next"),
    ),
    h(
      "article",
      { class: "dialogue" },
      h(
        "div",
        { class: "spoken" },
        h("h1", {}, data.reward ? `Reward ${signed(data.reward.total)}` : "Void"),
        h("p", { class: "soft small view-note" }, `ended: ${label(data.end_reason)}`),
        heading(data),
        spoken(data, "tutor"),
      ),
      h("div", { class: "measured" }, measured(data)),
    ),
  );
  window.scrollTo(0, 0);
  reader.focus();
}

document.getElementById("narrow")?.addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rowsShown) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
});
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input") || event.ctrlKey || event.metaKey || event.altKey || opened() === null) return;
  const act = {
    j: () => moveBy(1),
    k: () => moveBy(-1),
    Escape: () => {
      location.hash = "#dialogues";
    },
  }[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});
window.addEventListener("hashchange", follow);
follow();
