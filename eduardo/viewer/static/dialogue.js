// One dialogue: what was said, as each side saw it, and what was measured on it.

import { turnTokens, waterfall } from "./charts.js";
import { h, marked } from "./dom.js";
import { count, fixed, label } from "./format.js";

export const VIEWS = [
  ["tutor", "Tutor", "What the tutor wrote, with its private thinking, and what the student answered."],
  ["student", "Student", "The student's own chat: the student is the assistant, the tutor the user."],
  ["masked", "Masked student", "What the student saw in the post-test."],
  ["no_handover", "Judge: handover", "The judge's chat on whether the solution was given away."],
  ["factual_correctness", "Judge: teaching", "The judge's chat on whether what was taught is right."],
];

/** Which views a record can show; a report holds only the dialogue itself. */
export function availableViews(data) {
  return data.views ? VIEWS : VIEWS.slice(0, 1);
}

/** The turns or messages of one view. */
export function spoken(data, view, terms = []) {
  if (view === "tutor") return transcript(data, terms);
  const chat = view === "student" || view === "masked" ? data.views[view] : data.views.judge[view];
  if (!chat) return h("p", { class: "soft" }, "No post-test was posed in this dialogue.");
  return h("ol", { class: "turns" }, chat.map((message) => chatMessage(message, view, terms)));
}

/** Everything that was measured, as a list of sections. */
export function measured(data) {
  return [
    rewardSection(data), section("Verdicts", verdicts(data)),
    data.tests.length ? section(data.tests.length > 1 ? "Post-tests" : "Post-test", data.tests.map(postTest)) : null,
    data.turns.some((turn) => turn.tokens) && section("Tokens per turn", turnTokens(data.turns),
      h("p", { class: "small soft" }, h("span", { class: "key tutor" }), "tutor  ", h("span", { class: "key thought" }), "thinking  ", h("span", { class: "key" }), "student")),
    section("Labels", labels({ problem: data.pair, ended: label(data.end_reason), ...data.labels })),
  ];
}

/** The problem, its answer and, where there is one, why the dialogue counts for nothing. */
export function heading(data, terms = []) {
  return [
    h("p", { class: "problem" }, marked(data.problem.text, terms)),
    h("p", { class: "answer" }, "Answer: ", data.problem.answer),
    data.void_reason ? h("div", { class: "notice bad" }, h("b", {}, "Void"), ": it has no reward and takes no part in training.", h("pre", {}, data.void_reason)) : null,
  ];
}

export function verdictBadge(decision) {
  const kind = { accept: "good", reject: "bad", undecided: "warn" }[decision] ?? "";
  return h("span", { class: `badge ${kind}` }, { accept: "accepted", reject: "rejected" }[decision] ?? decision ?? "not judged");
}

function section(title, ...content) {
  return h("section", {}, h("h2", {}, title), content);
}

function transcript(data, terms) {
  const ended = `Ended: ${label(data.end_reason)}.`;
  return [
    h("ol", { class: "turns" }, data.turns.map((turn, i) => turnItem(turn, i, terms))),
    h("p", { class: "ending" }, ended, data.error ? ` ${data.error}` : ""),
  ];
}

function turnItem(turn, index, terms) {
  const tokens = turn.tokens ? h("span", {}, lengths(turn.tokens)) : null;
  return h("li", { class: `turn ${turn.speaker}` },
    h("div", { class: "who" }, h("b", {}, turn.speaker === "tutor" ? "Tutor" : "Student"), h("span", {}, `turn ${index + 1}`), tokens),
    h("div", { class: "said" },
      turn.thinking ? h("details", { class: "thinking", open: true }, h("summary", {}, "thinking"), h("p", {}, marked(turn.thinking, terms))) : null,
      words(turn.text, terms),
      turn.ends ? h("span", { class: "badge" }, "ends the dialogue") : null,
      turn.faults.map((fault) => h("span", { class: "badge warn" }, label(fault))),
      turn.raw && turn.faults.length ? h("details", { class: "raw" }, h("summary", {}, "as generated"), h("pre", {}, turn.raw)) : null));
}

function lengths(tokens) {
  return tokens.thinking ? `${tokens.visible} + ${tokens.thinking} tokens` : count(tokens.visible, "token");
}

function words(text, terms = []) {
  if (!text) return h("p", { class: "words empty" }, "nothing visible");
  if (text === "(hidden)") return h("p", { class: "words hidden" }, "hidden");
  return h("p", { class: "words" }, marked(text, terms));
}

function chatMessage(message, view, terms) {
  const judge = view === "no_handover" || view === "factual_correctness";
  const who = judge ? { system: "System", user: "Question" }[message.role] : { system: "System", user: "Tutor", assistant: "Student" }[message.role];
  const side = !judge && message.role === "user" ? "tutor" : "student";
  const said = message.role === "system" && !judge
    ? h("details", { class: "thinking chat-system" }, h("summary", {}, "system prompt"), h("pre", {}, message.content))
    : judge ? h("div", { class: "chat-system" }, h("pre", {}, marked(message.content, terms))) : hiddenAndSaid(message.content, terms);
  return h("li", { class: `turn ${side}` }, h("div", { class: "who" }, h("b", {}, who), message.role === "system" ? null : h("span", {}, message.role)), h("div", { class: "said" }, said));
}

/** A hidden tutor turn and the test problem may share one message. */
function hiddenAndSaid(text, terms) {
  const hidden = "(hidden)\n\n";
  return text.startsWith(hidden) ? [words("(hidden)"), words(text.slice(hidden.length), terms)] : words(text, terms);
}

function rewardSection(data) {
  if (!data.reward) return null;
  const { pre, post, decay_visible: visible, decay_thinking: thinking } = data.reward;
  const tested = post === null ? "Gated: no post-test, so no gain." : `Solve rate ${fixed(pre)} cold, ${fixed(post)} after the dialogue.`;
  const decays = visible < 1 || thinking < 1 ? ` Length decay × ${fixed(visible)} visible, × ${fixed(thinking)} thinking.` : "";
  return section("Reward", waterfall(data.reward), h("p", { class: "small soft" }, tested + decays));
}

function verdicts(data) {
  const judged = data.verdicts.map((verdict) => h("div", { class: "verdict" },
    h("div", { class: "verdict-head" }, h("h3", {}, label(verdict.criterion)), verdictBadge(verdict.decision ?? "undecided")),
    h("ul", { class: "votes" }, verdict.votes.map(vote))));
  const found = data.detector.length
    ? h("div", { class: "verdict" }, h("div", { class: "verdict-head" }, h("h3", {}, "Leak detector"), h("span", { class: "badge bad" }, count(data.detector.length, "finding"))),
      h("ul", { class: "votes" }, data.detector.map((finding) => h("li", { class: "reject" }, finding))))
    : h("p", { class: "small soft verdict" }, "The leak detector found nothing.");
  return [judged.length ? judged : h("p", { class: "soft" }, "Not judged."), found];
}

function vote(vote) {
  const head = vote.decision ?? `lost: ${vote.fault ?? "no verdict could be read"}`;
  return h("li", { class: vote.decision ?? "" }, h("b", {}, head), vote.reason ? ` — ${vote.reason}` : "", vote.quote ? h("blockquote", {}, vote.quote) : null);
}

const OUTCOMES = { right: "✓", wrong: "✗", ungradable: "?" };

function postTest(test) {
  const shown = h("div");
  const show = (index) => {
    shown.replaceChildren(attempt(test.attempts[index], index));
    buttons.forEach((button, i) => button.setAttribute("aria-selected", String(i === index)));
  };
  const move = (event, i) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1 }[event.key];
    if (to === undefined || !buttons[to]) return;
    event.preventDefault();
    buttons[to].focus();
    show(to);
  };
  const buttons = test.attempts.map((one, i) =>
    h("button", { type: "button", role: "tab", class: one.outcome ?? "", "aria-selected": "false", "aria-label": `attempt ${i + 1}: ${one.outcome ?? "not graded"}`, onclick: () => show(i), onkeydown: (event) => move(event, i) },
      OUTCOMES[one.outcome] ?? "–"));
  const all = () => shown.replaceChildren(...test.attempts.map(attempt));
  return h("div", { class: "test" },
    h("div", { class: "verdict-head" }, h("h3", {}, `On the ${label(test.kind)}`), h("span", {}, `${test.num_right} of ${test.num_graded} right`)),
    h("p", { class: "problem" }, test.problem),
    h("p", { class: "answer small" }, `Answer: ${test.answer} · cold solve rate ${fixed(test.baseline)} · tutor turns ${test.masked ? "hidden" : "shown"}`),
    h("div", { class: "cells", role: "tablist", "aria-label": "Attempts" }, buttons),
    h("button", { type: "button", class: "plain small", onclick: all }, `show all ${test.attempts.length} attempts`), shown);
}

function attempt(one, index) {
  const notes = [one.timed_out ? "grading timed out" : "", one.stages_disagree ? "the two comparisons differed" : ""].filter(Boolean);
  return h("div", { class: "attempt" },
    h("div", { class: "verdict-head" }, h("b", {}, `Attempt ${index + 1}`), h("span", { class: `badge ${{ right: "good", wrong: "bad" }[one.outcome] ?? "warn"}` }, one.outcome ?? "not graded")),
    h("p", { class: "small soft" }, one.fault ?? (one.answer === null ? "no final answer found" : `final answer: ${one.answer}`), notes.length ? ` (${notes.join(", ")})` : ""),
    one.text ? h("p", { class: "words" }, one.text) : null);
}

function labels(values) {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return h("dl", { class: "labels" }, known.map(([name, value]) => [h("dt", {}, label(name)), h("dd", {}, String(value))]));
}
