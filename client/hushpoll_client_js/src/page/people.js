/**
 * Several people on one device, where the survey allows it: each has a ledger, and so an epsilon, of their own.
 *
 * People are numbers. A name would tell the next person who answered before.
 */

import { byId, element } from "./elements.js";
import { words } from "./words.js";

const CURRENT = "hushpoll-person";
const MOST = "hushpoll-people";

/**
 * The number that a place keeps, 1 where the browser keeps none for this site: reading the place itself then throws.
 *
 * @param {"sessionStorage" | "localStorage"} place
 * @param {string} key
 */
function numberIn(place, key) {
  try {
    return Math.max(1, Math.trunc(Number(globalThis[place].getItem(key))) || 1);
  } catch {
    return 1;
  }
}

/** @param {"sessionStorage" | "localStorage"} place @param {string} key @param {number} value @returns {boolean} Whether it is kept. */
function keepIn(place, key, value) {
  try {
    globalThis[place].setItem(key, String(value));
    return true;
  } catch {
    return false;
  }
}

/** @returns {number} The person who answers in this tab, from 1. */
export const currentPerson = () => numberIn("sessionStorage", CURRENT);

/** @returns {number[]} The other people who have answered on this device. */
export const otherPeople = () =>
  Array.from({ length: numberIn("localStorage", MOST) }, (_, at) => at + 1).filter((person) => person !== currentPerson());

/**
 * Name of the database that holds a person's ledger; the first person has that of surveys that are not shared.
 *
 * @param {number} person
 */
export const databaseOf = (person) => (person === 1 ? "hushpoll" : `hushpoll-person-${person}`);

/** Note that the current person has answered, so that they can be chosen again. */
export function rememberPerson() {
  keepIn("localStorage", MOST, Math.max(numberIn("localStorage", MOST), currentPerson()));
}

/** Show who answers, and let another person take over: the page loads again, with that person's ledger. */
export function showPeople() {
  if (!keepIn("sessionStorage", CURRENT, currentPerson())) {
    byId("people").replaceChildren(element("p", {}, words.say("people.alone")));
    return;
  }
  const choose = (/** @type {number} */ person, /** @type {string} */ label) => {
    const button = element("button", { type: "button", class: "second" }, label);
    button.addEventListener("click", () => {
      if (keepIn("sessionStorage", CURRENT, person)) location.reload();
    });
    return button;
  };
  const others = otherPeople();
  const next = Math.max(currentPerson(), ...others) + 1;
  byId("people").replaceChildren(
    element("p", {}, words.say("people", { person: currentPerson() })),
    ...others.map((person) => choose(person, words.say("people.choose", { person }))),
    choose(next, words.say("people.another")),
  );
}
