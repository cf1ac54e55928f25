// Numbers and names as people read them.

const NAMES = {
  grp: "group",
  reward: "reward",
  gain: "gain Δ",
  length_decay: "length decay",
  gate: "gate",
  end_bonus: "end bonus",
  end_penalty: "end penalty",
  thinking_bonus: "thinking bonus",
  pre: "before (cold)",
  post: "after",
  num_tutor_turns: "tutor turns",
  visible_tokens: "visible tokens",
  thinking_tokens: "thinking tokens",
  tutor_ended: "by the tutor",
  student_ended: "by the student",
  no_handover: "No handover",
  factual_correctness: "Factual correctness",
  transfer: "variant",
  source: "source problem",
};

export function label(name) {
  return NAMES[name] ?? String(name).replaceAll("_", " ");
}

/** A signed number with two decimals and a true minus; an en dash where nothing was measured. */
export function signed(value) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(2);
  if (Number(text) === 0) return "0.00";
  return (value < 0 ? "−" : "+") + text;
}

export function fixed(value, digits = 2) {
  return value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
}

export function percent(share) {
  return share === null || share === undefined || Number.isNaN(share)
    ? "–"
    : `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

export function count(number, noun, nouns = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : nouns}`;
}
