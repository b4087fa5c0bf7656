/** Draws how far beliefs can move: a bar for each belief, with the same in words beside it. */

import { element } from "./elements.js";
import { words } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000;
const HEIGHT = 80;

/**
 * A table of three rows: a belief before, its bar, and what it can be afterwards. Who does not see the bars has all of
 * it in the first and the last column.
 *
 * @param {readonly import("../sentences.js").Change[]} changes
 * @param {string} caption What the table is about.
 */
export function picture(changes, caption) {
  const heads = [words.say("beliefs.before"), "", words.say("beliefs.afterwards")].map((head) => element(head ? "th" : "td", head ? { scope: "col" } : {}, head));
  return element("table", { class: "beliefs" },
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...changes.map(({ before, prior, high, range }) =>
      element("tr", {},
        element("th", { scope: "row" }, before),
        element("td", {}, bar(prior, high)),
        element("td", {}, range.replaceAll(" %", "\u00a0%")),
      ),
    )),
  );
}

/** What the two colours of a bar are. */
export const legend = () =>
  element("p", { class: "legend" },
    ...words.parts("legend", { before: bar(WIDTH, WIDTH, "swatch"), after: bar(0, WIDTH, "swatch") }),
  );

/**
 * @param {number} prior In thousandths.
 * @param {number} high In thousandths.
 * @param {string} [kind]
 */
function bar(prior, high, kind = "bar") {
  const whole = kind === "bar" ? WIDTH : HEIGHT;
  return drawn("svg", { class: kind, viewBox: `0 0 ${whole} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("rect", { class: "rest", width: `${whole}`, height: `${HEIGHT}` }),
    drawn("rect", { class: "after", width: `${(high * whole) / WIDTH}`, height: `${HEIGHT}` }),
    drawn("rect", { class: "before", width: `${(prior * whole) / WIDTH}`, height: `${HEIGHT}` }),
  );
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...Element} children
 */
function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
