// Small charts as SVG.

import { svg } from "./dom.js";
import { fixed, label, signed } from "./format.js";

/** How the parts of a reward add up to it: one bar per part that is not zero, then the total. */
export function waterfall(reward) {
  const parts = reward.parts.filter((part) => part.value !== 0);
  const spokenParts = parts.map((part) => `${label(part.name)} ${signed(part.value)}`).join(", ");
  const ends = parts.reduce((sums, part) => [...sums, sums.at(-1) + part.value], [0]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const [left, width, step] = [112, 196, 26];
  const x = (value) => left + ((value - low) / (high - low || 1)) * width;
  const bar = (from, to, y, kind) =>
    svg("rect", {
      x: Math.min(x(from), x(to)),
      y: y - 7,
      width: Math.max(1.5, Math.abs(x(to) - x(from))),
      height: 14,
      rx: 2,
      class: kind,
    });
  const rows = parts.map((part, i) => {
    const y = 14 + i * step;
    return [
      svg("text", { x: left - 10, y: y + 4, "text-anchor": "end", class: "strong" }, label(part.name)),
      bar(ends[i], ends[i + 1], y, part.value < 0 ? "down" : "up"),
      svg("line", { x1: x(ends[i + 1]), x2: x(ends[i + 1]), y1: y + 7, y2: y + step - 7, class: "join" }),
      svg("text", { x: left + width + 42, y: y + 4, "text-anchor": "end", class: "strong" }, signed(part.value)),
    ];
  });
  const y = 14 + parts.length * step;
  return svg(
    "svg",
    {
      viewBox: `0 0 360 ${y + 14}`,
      class: "chart waterfall",
      role: "img",
      "aria-label": `Reward ${signed(reward.total)}: ${spokenParts}`,
    },
    svg("line", { x1: x(0), x2: x(0), y1: 2, y2: y + 12, class: "zero" }),
    rows,
    svg("text", { x: left - 10, y: y + 4, "text-anchor": "end", class: "strong" }, "reward"),
    bar(0, reward.total, y, "sum"),
    svg("text", { x: left + width + 42, y: y + 4, "text-anchor": "end", class: "strong" }, signed(reward.total)),
  );
}

/** Tokens of each turn: thinking on top of what was visible. Turns of unknown length are left blank. */
export function turnTokens(turns) {
  const lengths = turns.map((turn) => turn.tokens ?? { visible: 0, thinking: 0 });
  const top = Math.max(1, ...lengths.map((tokens) => tokens.visible + tokens.thinking));
  const [left, height, width] = [34, 84, 322];
  const step = Math.min(26, width / turns.length);
  const wide = Math.max(2, step * 0.68);
  const bars = turns.map((turn, i) => {
    const { visible, thinking } = lengths[i];
    const [tall, thought] = [(visible / top) * height, (thinking / top) * height];
    const x = left + 4 + i * step;
    const length = turn.tokens ? `${visible} visible, ${thinking} thinking` : "length not known";
    return svg(
      "g",
      {},
      svg("title", {}, `turn ${i + 1}, ${turn.speaker}: ${length}`),
      svg("rect", { x, y: 8 + height - tall, width: wide, height: tall, class: turn.speaker }),
      svg("rect", { x, y: 8 + height - tall - thought, width: wide, height: thought, class: "thought" }),
    );
  });
  const every = Math.max(1, Math.ceil(turns.length / 12));
  return svg(
    "svg",
    { viewBox: "0 0 360 112", class: "chart", role: "img", "aria-label": `Tokens per turn, at most ${top}` },
    svg("line", { x1: left, x2: left + width, y1: 8 + height, y2: 8 + height, class: "axis" }),
    svg("text", { x: left - 6, y: 14, "text-anchor": "end" }, String(top)),
    svg("text", { x: left - 6, y: 10 + height, "text-anchor": "end" }, "0"),
    bars,
    turns.map((_, i) =>
      i % every
        ? null
        : svg("text", { x: left + 4 + i * step + wide / 2, y: 107, "text-anchor": "middle" }, String(i + 1)),
    ),
  );
}

/** A reward on a fixed scale from −1 to 1, for a table row. */
export function rewardBar(value) {
  const x = (v) => 30 + 29 * Math.max(-1, Math.min(1, v));
  return svg(
    "svg",
    { viewBox: "0 0 60 10", "aria-hidden": "true" },
    svg("rect", {
      x: Math.min(x(0), x(value)),
      y: 2,
      width: Math.abs(x(value) - x(0)),
      height: 6,
      class: value < 0 ? "down" : "up",
    }),
    svg("line", { x1: 30, x2: 30, y1: 0, y2: 10, class: "zero" }),
  );
}

/** Values over steps. `series`: name and points [step, value]; `dots`: step, value, kind, href and title. */
export function overSteps({ series = [], dots = [], caption, height = 112 }) {
  const points = [...series.flatMap((one) => one.points), ...dots.map((dot) => [dot.step, dot.value])];
  const steps = points.map(([step]) => step),
    values = points.map(([, value]) => value);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  // As wide as there is room, so that text keeps its size.
  const full = Math.max(300, Math.min(800, document.documentElement.clientWidth - 34));
  const [left, width] = [40, full - 60];
  const x = (step) => left + 22 + ((step - first) / (last - first || 1)) * (width - 44);
  const y = (value) => 10 + (1 - (value - low) / (high - low || 1)) * (height - 34);
  const far = (tick) => tick === 0 || Math.abs(y(tick) - y(0)) > 14;
  const ticks = [...new Set([low, 0, high])].filter(far);
  return svg(
    "svg",
    {
      viewBox: `0 0 ${full} ${height}`,
      class: "chart",
      role: dots.length ? "group" : "img",
      "aria-label": caption,
    },
    ticks.map((tick) => [
      svg("line", { x1: left, x2: left + width, y1: y(tick), y2: y(tick), class: tick === 0 ? "zero" : "axis" }),
      svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, fixed(tick)),
    ]),
    svg("text", { x: x(first), y: height - 6, "text-anchor": "middle" }, String(first)),
    last === first ? null : svg("text", { x: x(last), y: height - 6, "text-anchor": "middle" }, String(last)),
    svg("text", { x: left + width / 2, y: height - 6, "text-anchor": "middle" }, "step"),
    series.map((one, i) =>
      svg("polyline", {
        points: one.points.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
        class: `mean series-${i}`,
      }),
    ),
    dots.map((dot) =>
      svg(
        "a",
        { href: dot.href, "aria-label": dot.title },
        svg("title", {}, dot.title),
        svg("circle", { cx: x(dot.step) + dot.shift, cy: y(dot.value), r: 4.5, class: `dot ${dot.kind}` }),
      ),
    ),
  );
}
