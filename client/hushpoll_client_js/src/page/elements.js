/** Building and finding elements of the hosted page. Text is only ever set as text: no markup comes from a survey. */

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/**
 * The element of an id that the server's template promises.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const part = document.getElementById(id);
  if (!part) throw new Error(`the page has no element ${id}`);
  return part;
}

/**
 * Show one of the page's parts and hide the others. The focus moves to it, so that a screen reader reads it, and the
 * page scrolls to it, since a long description may stand above it.
 *
 * @param {import("./leaving.js").Step} id
 */
export function showPart(id) {
  const changes = byId(id).hidden;
  for (const part of PARTS) byId(part).hidden = part !== id;
  if (!changes) return;
  (byId(id).querySelector("h2") ?? byId(id)).focus();
  byId(id).scrollIntoView();
}

const PARTS = ["survey", "review", "receipt"];

/**
 * Show what went wrong, which screen readers read at once; without words, remove the message.
 *
 * @param {...(Node | string)} words
 */
export function showProblem(...words) {
  const place = byId("problem");
  place.replaceChildren(...words);
  place.hidden = words.length === 0;
  if (words.length) place.focus();
}
