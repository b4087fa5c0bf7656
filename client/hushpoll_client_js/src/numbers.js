/**
 * Numbers: questions that are answered by a whole number between two limits; loaded where a manifest has some. The device draws one of the
 * two anchors beside the answer, which is the answer on average, and only the anchor is randomised. A number in clear is its value.
 */

import { integer, must, Q, shape, text } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

const LIMIT = integer(-1e12, 1e12);

/**
 * Check the numbers among the attributes, and say of each how its answers are coded and which anchor is drawn for a code.
 *
 * @param {Attribute[]} attributes
 * @param {number} format Of the manifest; 1 has none.
 * @throws {import("./errors.js").InvalidParameter} Naming the number.
 */
export const readNumbers = (attributes, format) =>
  attributes.forEach((attribute) => {
    const { name, role, scale, categories, domain, oracle, k } = attribute;
    if (!("number" in attribute)) return;
    const where = `attributes[${name}]`;
    must(format > 1 && role !== "target", `${where}.number`, attribute.number, "left out");
    const { low, high } = shape(attribute.number, `${where}.number`, { low: LIMIT, high: LIMIT, "unit?": text(40) });
    must(low < high, `${where}.number.high`, high, `more than ${low}`);
    must(scale === undefined, `${where}.scale`, scale, "left out");
    const values = high - low + 1;
    const others = domain.slice(categories.length);
    const anchors = categories.map(Number);
    must(
      anchors[0] === low &&
        anchors.at(-1) === high &&
        anchors.every((anchor, at) => Number.isInteger(anchor) && String(anchor) === categories[at] && !(at && anchor <= anchors[at - 1])) &&
        (oracle || anchors.length === values),
      `${where}.categories`,
      categories,
      `anchors from ${low} to ${high}`,
    );
    const read = (/** @type {string} */ given) =>
      /^(0|-?[1-9]\d{0,15})$/.test(given) && +given >= low && +given <= high ? +given - low : others.includes(given) ? values + others.indexOf(given) : -1;
    must(others.every((label) => read(label) >= values), `${where}.missing`, attribute.missing, "no number of it");
    Object.assign(attribute, { codes: k - categories.length + values, read, offers: `the whole numbers from ${low} to ${high}` });
    if (oracle) {
      attribute.draw = (code, bits) => (code < values ? drawAnchor(anchors, low + code, bits) : code - values + categories.length);
    }
  });

/**
 * The place of the anchor that stands for a value, which is the value on average.
 *
 * @param {readonly number[]} anchors Increasing.
 * @param {number} value
 * @param {import("./bits.js").Bits} bits
 */
export function drawAnchor(anchors, value, bits) {
  const place = Math.min(anchors.filter((anchor) => anchor <= value).length, anchors.length - 1) - 1;
  const gap = BigInt(anchors[place + 1] - anchors[place]);
  let word;
  do word = bits(1)[0];
  while (word >= Q - (Q % gap));
  return place + Number(word % gap < BigInt(value - anchors[place]));
}
