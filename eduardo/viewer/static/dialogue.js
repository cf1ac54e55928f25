// One dialogue: what was said, as each side saw it.

import { h, marked } from "./dom.js";
import { count, label } from "./format.js";

export const VIEWS = [
  ["tutor", "Tutor", "What the tutor wrote, with its private thinking, and what the student answered."],
  ["student", "Student", "The student's own chat: the student is the assistant, the tutor the user."],
  ["masked", "Masked student", "What the student saw in the post-test."],
  ["no_handover", "Judge: handover", "The judge's chat on whether the solution was given away."],
  ["factual_correctness", "Judge: teaching", "The judge's chat on whether what was taught is right."],
];

/** The turns or messages of one view. */
export function spoken(data, view, terms = []) {
  if (view === "tutor") return transcript(data, terms);
  const chat = view === "student" || view === "masked" ? data.views[view] : (data.views.judge[view] ?? data.views.judge.preference);
  if (!chat) return h("p", { class: "soft" }, "No post-test was posed in this dialogue.");
  return h(
    "ol",
    { class: "turns" },
    chat.map((message) => chatMessage(message, view, terms)),
  );
}

/** The problem, its answer and, where there is one, why the dialogue counts for nothing. */
export function heading(data, terms = []) {
  return [
    h("p", { class: "problem" }, marked(data.problem.text, terms)),
    h("p", { class: "answer" }, "Answer: ", data.problem.answer),
    data.void_reason ? voidNotice(data.void_reason) : null,
  ];
}

function voidNotice(reason) {
  const meaning = ": it has no reward and takes no part in training.";
  return h("div", { class: "notice bad" }, h("b", {}, "Void"), meaning, h("pre", {}, reason));
}

function transcript(data, terms) {
  const ended = `Ended: ${label(data.end_reason)}.`;
  return [
    h(
      "ol",
      { class: "turns" },
      data.turns.map((turn, i) => turnItem(turn, i, terms)),
    ),
    h("p", { class: "ending" }, ended, data.error ? ` ${data.error}` : ""),
  ];
}

function turnItem(turn, index, terms) {
  const tokens = turn.tokens ? h("span", {}, lengths(turn.tokens)) : null;
  const speaker = turn.speaker === "tutor" ? "Tutor" : "Student";
  return h(
    "li",
    { class: `turn ${turn.speaker}` },
    h("div", { class: "who" }, h("b", {}, speaker), h("span", {}, `turn ${index + 1}`), tokens),
    h(
      "div",
      { class: "said" },
      turn.thinking ? thoughts(turn.thinking, terms) : null,
      words(turn.text, terms),
      turn.ends ? h("span", { class: "badge" }, "ends the dialogue") : null,
      turn.faults.map((fault) => h("span", { class: "badge warn" }, label(fault))),
      turn.raw && turn.faults.length ? asGenerated(turn.raw) : null,
    ),
  );
}

function thoughts(text, terms) {
  const said = h("p", {}, marked(text, terms));
  return h("details", { class: "thinking", open: true }, h("summary", {}, "thinking"), said);
}

function asGenerated(raw) {
  return h("details", { class: "raw" }, h("summary", {}, "as generated"), h("pre", {}, raw));
}

function lengths(tokens) {
  return tokens.thinking ? `${tokens.visible} + ${tokens.thinking} tokens` : count(tokens.visible, "token");
}

function words(text, terms = []) {
  if (!text) return h("p", { class: "words empty" }, "nothing visible");
  if (text === "(hidden)") return h("p", { class: "words hidden" }, "hidden");
  return h("p", { class: "words" }, marked(text, terms));
}

const JUDGE_VIEWS = ["no_handover", "factual_correctness"];
const SPEAKERS = { system: "System", user: "Tutor", assistant: "Student" };

function chatMessage(message, view, terms) {
  const judged = JUDGE_VIEWS.includes(view);
  const isTutor = !judged && message.role === "user";
  const who = judged && message.role === "user" ? "Question" : SPEAKERS[message.role];
  const role = message.role === "system" ? null : h("span", {}, message.role);
  return h(
    "li",
    { class: `turn ${isTutor ? "tutor" : "student"}` },
    h("div", { class: "who" }, h("b", {}, who), role),
    h("div", { class: "said" }, judged ? verbatim(message.content, terms) : messageWords(message, terms)),
  );
}

function messageWords(message, terms) {
  if (message.role !== "system") return hiddenAndSaid(message.content, terms);
  const prompt = h("pre", {}, message.content);
  return h("details", { class: "thinking chat-system" }, h("summary", {}, "system prompt"), prompt);
}

function verbatim(text, terms) {
  return h("div", { class: "chat-system" }, h("pre", {}, marked(text, terms)));
}

/** A hidden tutor turn and the test problem may share one message. */
function hiddenAndSaid(text, terms) {
  const hidden = "(hidden)\n\n";
  return text.startsWith(hidden) ? [words("(hidden)"), words(text.slice(hidden.length), terms)] : words(text, terms);
}
