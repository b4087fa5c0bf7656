/** Building and finding elements of the hosted page. Text is only ever set as text: no markup comes from a survey. */

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * The element of an id that the server's template promises.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/**
 * Show one of the page's parts and hide the others. The focus goes to it, so that a screen reader does, and it is moved
 * to where the person looks: a long description may stand above it.
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
 * Say what went wrong, at once and aloud; without words, take back what was said.
 *
 * @param {...(Node | string)} words
 */
export function showProblem(...words) {
  const place = byId("problem");
  place.replaceChildren(...words);
  place.hidden = words.length === 0;
  if (words.length) place.focus();
}
