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
 * Show one of the page's parts and hide the others; its heading takes the focus, so that a screen reader goes there.
 *
 * @param {string} id Out of `PARTS`.
 */
export function showPart(id) {
  for (const part of PARTS) byId(part).hidden = part !== id;
  byId(id).querySelector("h2")?.focus();
  scrollTo(0, 0);
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
