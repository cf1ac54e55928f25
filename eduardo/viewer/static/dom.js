// Elements out of plain values. Text only ever becomes a text node: nothing here can turn it into markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. `on…` properties are listeners, others attributes; false, null, undefined leave one out. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** `text` with every occurrence of one of `terms` inside <mark>. */
export function marked(text, terms) {
  const wanted = terms.filter(Boolean).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return [text];
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "giu"));
  return parts.map((part, i) => (i % 2 ? h("mark", {}, part) : part));
}

/** The words and "phrases" of a search, as the index understands them. */
export function searchTerms(text) {
  return [...text.matchAll(/"([^"]*)"|(\S+)/g)]
    .map((match) => match[1] ?? match[2])
    .filter((term) => /[\p{L}\p{N}]/u.test(term));
}
