/** Shows answers, and rows of a table, in an order that this device draws, where a survey wants that; the order is neither kept nor sent. */

import { secureBits } from "../bits.js";

/** @typedef {import("../bits.js").Bits} Bits */

/**
 * Draw the order of the answers of each question that has a drawn one. What stands last by the manifest stays there.
 *
 * @param {HTMLFormElement} form Checked against the manifest.
 * @param {import("../published.js").Published} published
 * @param {Bits} [bits]
 */
export function drawOrders(form, { attributes, selects = [], matrices = [] }, bits = secureBits) {
  for (const { name, shuffle, missing } of attributes) {
    if (shuffle) drawOrder(form.querySelector(`[data-attribute="${name}"]`), (shuffle.last ?? 0) + (missing === undefined ? 0 : 1), bits);
  }
  for (const { name, shuffle } of selects) if (shuffle) drawOrder(form.querySelector(`[data-select="${name}"]`), shuffle.last ?? 0, bits);
  for (const { name, shuffle } of matrices) if (shuffle) drawOrder(form.querySelector(`[data-matrix="${name}"]`), shuffle.last ?? 0, bits, ".row");
}

/**
 * @param {Element | null} field
 * @param {number} staying How many of the last choices stay where they are.
 * @param {Bits} bits
 * @param {string} [moved] What changes places.
 */
function drawOrder(field, staying, bits, moved = ".choice, option:not([value=''])") {
  const choices = [...(field?.querySelectorAll(moved) ?? [])];
  const moving = choices.slice(0, choices.length - staying);
  const end = moving[moving.length - 1].nextSibling;
  for (let left = moving.length; left > 0; left--) {
    // The remainder of 64 bits by at most 65,536 is even but for 2^-48.
    const [chosen] = moving.splice(Number(bits(1)[0] % BigInt(left)), 1);
    end ? end.before(chosen) : field?.append(chosen);
  }
}
