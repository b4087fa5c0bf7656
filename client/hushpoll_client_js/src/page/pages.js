/** Shows the questions one section at a time, where the survey has several sections. */

import { byId } from "./elements.js";
import { words } from "./words.js";

/**
 * @typedef {object} Pages
 * @property {(at?: number) => void} show Show a page, or the current one again after answers made follow-ups come or go.
 * @property {() => boolean} isLast Whether no question stands on a later page.
 * @property {(by: 1 | -1) => void} turn Go to the next or the last page that asks something.
 * @property {(field: HTMLElement) => boolean} has Whether a question is on the current page.
 * @property {(field: HTMLElement) => void} to Show the page of a question.
 */

/**
 * @param {HTMLFormElement} form Checked against the manifest.
 * @param {import("../published.js").Published} published
 * @returns {Pages}
 */
export function pagesOf(form, { attributes }) {
  const fields = /** @type {HTMLElement[]} */ ([...form.querySelectorAll(":scope > fieldset")]);
  const sections = fields.map((field) => {
    const { attribute = field.querySelector("[data-attribute]")?.getAttribute("data-attribute") } = field.dataset;
    return attributes.find(({ name }) => name === attribute)?.section;
  });
  /** @type {HTMLElement[][]} */
  const pages = [];
  fields.forEach((field, place) => {
    if (!place || sections[place] !== sections[place - 1]) pages.push([]);
    pages[pages.length - 1].push(field);
  });
  let current = 0;
  const asked = () => pages.flatMap((page, at) => (page.some(({ hidden }) => !hidden) ? [at] : []));
  const away = (/** @type {Element | null} */ node, /** @type {boolean} */ is) => node?.toggleAttribute("data-away", is);
  /** @type {Pages} */
  const book = {
    show(at = current) {
      current = at;
      const all = asked();
      pages.forEach((page, number) => page.forEach((field) => {
        away(field, number !== current);
        if (field.previousElementSibling?.matches(".section")) away(field.previousElementSibling, number !== current);
      }));
      const last = book.isLast();
      away(byId("go-on"), !last);
      away(byId("next"), last);
      away(byId("back"), !all.some((number) => number < current));
      byId("page-of").textContent = all.length > 1 ? words.say("page", { page: all.indexOf(current) + 1, count: all.length }) : "";
    },
    isLast: () => !asked().some((number) => number > current),
    turn(by) {
      const found = by > 0 ? asked().find((number) => number > current) : asked().reverse().find((number) => number < current);
      if (found !== undefined) turnTo(found);
    },
    has: (field) => pages[current].some((one) => one.contains(field)),
    to: (field) => {
      const found = pages.findIndex((page) => page.some((one) => one.contains(field)));
      if (found >= 0 && found !== current) book.show(found);
    },
  };
  const turnTo = (/** @type {number} */ at) => {
    book.show(at);
    const [first] = pages[at].filter(({ hidden }) => !hidden);
    const before = /** @type {HTMLElement | null} */ (first.previousElementSibling);
    const start = before?.matches(".section") ? before : first;
    // A screen reader begins where the page begins.
    start.tabIndex = -1;
    start.focus();
    byId("page-of").scrollIntoView();
  };
  return book;
}
