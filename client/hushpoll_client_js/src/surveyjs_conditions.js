/**
 * When a SurveyJS question is shown that answers a follow-up: a `visibleIf` that names the router's question with the values after which it
 * is asked, such as `{smoking} = 'daily'` or `{smoking} anyof ['daily', 'sometimes']`, also joined by `or`.
 */

import { keyOf, refuse } from "./surveyjs_refusals.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * A question, or a part of one, with the attribute that it answers.
 *
 * @typedef {object} Marked
 * @property {any} question
 * @property {string} part The row of a matrix, the choice of a checkbox; empty of other types.
 * @property {Attribute} attribute
 * @property {(value: unknown) => string | null | undefined} mean What a value of it means.
 * @property {unknown[]} values All that it offers.
 */

const TERM = /\s*\{([^{}]+)\}\s*(?:==?|equal\b|anyof\b)\s*(\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s'"[\]]+)\s*(or\b|$)/iy;
const VALUE = /'([^']*)'|"([^"]*)"|([^\s,'"[\]]+)/g;

/**
 * Refuse follow-ups that are shown at other times than they are asked.
 *
 * @param {readonly Marked[]} marked
 * @throws {import("./errors.js").InvalidParameter} Naming the question, with the rule to give it.
 */
export function checkConditions(marked) {
  for (const one of marked) {
    const wanted = conditionOf(one, marked);
    if (wanted === undefined) continue;
    const { question, attribute } = one;
    const given = read(String(question.visibleIf ?? ""));
    if (!given) refuse(question.name, `answers ${attribute.name}, a follow-up; give it visibleIf: "${wanted.text}", and no other rule`);
    const router = routerOf(one, marked);
    const asked = new Set(given.values.map((value) => router.mean(value)));
    const same = asked.size === wanted.categories.length && wanted.categories.every((category) => asked.has(category));
    if (!same || !pathsOf(router).includes(given.path.toLowerCase())) {
      refuse(question.name, `is shown by another rule than ${attribute.name} is asked by; give it visibleIf: "${wanted.text}"`);
    }
  }
}

/**
 * Give each question that answers a follow-up, and has no rule yet, the rule by which it is asked.
 *
 * @param {readonly Marked[]} marked
 */
export function writeConditions(marked) {
  for (const one of marked) {
    const wanted = conditionOf(one, marked);
    if (wanted && !one.question.visibleIf) one.question.visibleIf = wanted.text;
  }
}

/**
 * The rule by which a follow-up is asked, and the router's categories in it; undefined of what is no follow-up.
 *
 * @param {Marked} one
 * @param {readonly Marked[]} marked
 */
function conditionOf(one, marked) {
  const { asking } = one.attribute;
  if (!asking) return undefined;
  const router = routerOf(one, marked);
  if (router.question.getType() === "checkbox") {
    refuse(one.question.name, `is asked after a choice of ${router.question.name}, a checkbox; ask ${router.attribute.name} by a question of its own`);
  }
  const values = router.values.filter((value) => asking.has(String(router.mean(value))));
  const spelled = values.map((value) => (typeof value === "string" ? (value.includes("'") ? `"${value}"` : `'${value}'`) : String(value)));
  const path = `{${keyOf(router.question)}${router.part && `.${router.part}`}}`;
  return {
    text: spelled.length === 1 ? `${path} = ${spelled}` : `${path} anyof [${spelled.join(", ")}]`,
    categories: [...new Set(values.map((value) => router.mean(value)))],
  };
}

/** @param {Marked} one @param {readonly Marked[]} marked @returns {Marked} */
function routerOf({ question, attribute }, marked) {
  const [router] = Object.keys(attribute.ask_if ?? {});
  return marked.find((other) => other.attribute.name === router) ?? refuse(question.name, `is asked after ${router}, which no question answers`);
}

/** @param {Marked} router How an expression may call its value. */
const pathsOf = ({ question, part }) => [question.name, keyOf(question)].map((name) => `${name}${part && `.${part}`}`.toLowerCase());

/**
 * Read a rule: which value it is about, and what that must be; undefined for a rule of another form.
 *
 * @param {string} rule
 * @returns {{path: string, values: unknown[]} | undefined}
 */
function read(rule) {
  /** @type {string[]} */
  const paths = [];
  /** @type {unknown[]} */
  const values = [];
  TERM.lastIndex = 0;
  for (let more = true; more; ) {
    const term = TERM.exec(rule);
    if (!term) return undefined;
    const [, path = "", listed = "", joint = ""] = term;
    paths.push(path.trim());
    for (const [, single, double, plain] of listed.matchAll(VALUE)) {
      values.push(plain === "true" ? true : plain === "false" ? false : (single ?? double ?? plain));
    }
    more = joint !== "";
  }
  TERM.lastIndex = 0;
  return new Set(paths).size === 1 ? { path: String(paths[0]), values } : undefined;
}
