// What was measured on a dialogue: reward, verdicts, post-tests, lengths.

import { turnTokens, waterfall } from "./charts.js";
import { h } from "./dom.js";
import { count, fixed, label } from "./format.js";

/** Everything that was measured, as a list of sections. */
export function measured(data) {
  const known = { problem: data.pair, ended: label(data.end_reason), ...data.labels };
  const title = data.tests.length > 1 ? "Post-tests" : "Post-test";
  return [
    data.reward ? section("Reward", waterfall(data.reward), rewardNote(data.reward, data.preference)) : null,
    data.preference
      ? section("Preference", preference(data.preference))
      : section("Verdicts", verdicts(data), detector(data.detector)),
    data.tests.length ? section(title, data.tests.map(postTest)) : null,
    data.turns.some((turn) => turn.tokens) ? section("Tokens per turn", turnTokens(data.turns), tokenKeys()) : null,
    section("Labels", labels(known)),
  ];
}

export function verdictBadge(decision) {
  const kind = { accept: "good", reject: "bad", undecided: "warn" }[decision] ?? "";
  return h(
    "span",
    { class: `badge ${kind}` },
    { accept: "accepted", reject: "rejected" }[decision] ?? decision ?? "not judged",
  );
}

function section(title, ...content) {
  return h("section", {}, h("h2", {}, title), content);
}

function tokenKeys() {
  const key = (kind, name) => [h("span", { class: `key ${kind}` }), `${name}  `];
  const keys = [key("tutor", "tutor"), key("thought", "thinking"), key("", "student")];
  return h("p", { class: "small soft" }, keys);
}

function rewardNote(reward, preferred) {
  const { pre, post, decay_visible: visible, decay_thinking: thinking } = reward;
  const tested = `Solve rate ${fixed(pre)} cold, ${fixed(post)} after the dialogue.`;
  const decays = ` Length decay × ${fixed(visible)} visible, × ${fixed(thinking)} thinking.`;
  const compared = "The judge's preference over the data set's own conversation, the mean of both orders.";
  const gated = "Gated: no post-test, so no gain.";
  const text = preferred ? compared : post === null ? gated : tested;
  return h("p", { class: "small soft" }, text, visible < 1 || thinking < 1 ? decays : "");
}

/** A title with a badge or figure at its right. */
function titled(title, beside, level = "h3") {
  return h("div", { class: "verdict-head" }, h(level, {}, title), beside);
}

function verdicts(data) {
  if (!data.verdicts.length) return h("p", { class: "soft" }, "Not judged.");
  return data.verdicts.map((verdict) => {
    const badge = verdictBadge(verdict.decision ?? "undecided");
    const votes = h("ul", { class: "votes" }, verdict.votes.map(vote));
    return h("div", { class: "verdict" }, titled(label(verdict.criterion), badge), votes);
  });
}

/** Votes on a lesson against the data set's own conversation, shown in either order. */
function preference({ background, comparisons }) {
  const told = `Student: ${background.student_preference} ${background.student_reaction}`;
  const orders = comparisons.map(({ dialogue_first: first, votes }) =>
    h(
      "div",
      { class: "verdict" },
      titled(first ? "Shown before the reference" : "Shown after the reference", ""),
      h("ul", { class: "votes" }, votes.map(vote)),
    ),
  );
  return [h("p", { class: "small soft" }, told), orders.length ? orders : h("p", { class: "soft" }, "Not judged.")];
}

function detector(findings) {
  if (!findings.length) return h("p", { class: "small soft verdict" }, "The leak detector found nothing.");
  const badge = h("span", { class: "badge bad" }, count(findings.length, "finding"));
  const items = findings.map((finding) => h("li", { class: "reject" }, finding));
  return h("div", { class: "verdict" }, titled("Leak detector", badge), h("ul", { class: "votes" }, items));
}

function vote(vote) {
  const head = vote.decision ?? `lost: ${vote.fault ?? "no verdict could be read"}`;
  return h(
    "li",
    { class: vote.decision ?? "" },
    h("b", {}, head),
    vote.reason ? ` — ${vote.reason}` : "",
    vote.quote ? h("blockquote", {}, vote.quote) : null,
  );
}

const OUTCOMES = { right: "✓", wrong: "✗", ungradable: "?" };

/** A post-test: its problem, a cell per attempt, and below them the attempt that is chosen, or all. */
function postTest(test) {
  const shown = h("div");
  const all = () => shown.replaceChildren(...test.attempts.map(attempt));
  const facts = [
    `Answer: ${test.answer}`,
    `cold solve rate ${fixed(test.baseline)}`,
    `tutor turns ${test.masked ? "hidden" : "shown"}`,
  ];
  return h(
    "div",
    { class: "test" },
    titled(`On the ${label(test.kind)}`, h("span", {}, `${test.num_right} of ${test.num_graded} right`)),
    h("p", { class: "problem" }, test.problem),
    h("p", { class: "answer small" }, facts.join(" · ")),
    attemptCells(test, (index) => shown.replaceChildren(attempt(test.attempts[index], index))),
    h("button", { type: "button", class: "plain small", onclick: all }, `show all ${test.attempts.length} attempts`),
    shown,
  );
}

/** Buttons, one per attempt, that arrow keys move along. */
function attemptCells(test, show) {
  const choose = (index) => {
    show(index);
    buttons.forEach((button, i) => button.setAttribute("aria-selected", String(i === index)));
  };
  const onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = buttons[buttons.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
    choose(buttons.indexOf(next));
  };
  const buttons = test.attempts.map((one, i) => {
    const name = `attempt ${i + 1}: ${one.outcome ?? "not graded"}`;
    const state = { role: "tab", "aria-selected": "false", "aria-label": name, class: one.outcome ?? "" };
    return h("button", { type: "button", ...state, onclick: () => choose(i) }, OUTCOMES[one.outcome] ?? "–");
  });
  return h("div", { class: "cells", role: "tablist", "aria-label": "Attempts", onkeydown }, buttons);
}

function attempt(one, index) {
  const kind = { right: "good", wrong: "bad" }[one.outcome] ?? "warn";
  const answer = one.answer === null ? "no final answer found" : `final answer: ${one.answer}`;
  const notes = [
    one.fault ?? answer,
    one.timed_out ? "grading timed out" : "",
    one.stages_disagree ? "the two comparisons differed" : "",
  ];
  return h(
    "div",
    { class: "attempt" },
    titled(`Attempt ${index + 1}`, h("span", { class: `badge ${kind}` }, one.outcome ?? "not graded"), "b"),
    h("p", { class: "small soft" }, notes.filter(Boolean).join(", ")),
    one.text ? h("p", { class: "words" }, one.text) : null,
  );
}

function labels(values) {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return h(
    "dl",
    { class: "labels" },
    known.map(([name, value]) => [h("dt", {}, label(name)), h("dd", {}, String(value))]),
  );
}
