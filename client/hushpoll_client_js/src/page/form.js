/** Reads the form that the server rendered: checks that it asks what the manifest says, and collects the answers. */

import { ManifestRefused } from "../errors.js";
import { byId } from "./elements.js";
import { words } from "./words.js";
import { SELECTED } from "../wording.js";

/** @typedef {import("../published.js").Published} Published */
/** @typedef {import("../attribute.js").Attribute} Attribute */
/** @typedef {{field: HTMLElement, question: string, words: string}} Fault A question that still wants an answer. */

/**
 * Refuse a form that asks something else than the checked manifest: another question, or a choice under another name.
 *
 * @param {HTMLFormElement} form
 * @param {Published} published
 * @throws {ManifestRefused}
 */
export function checkForm(form, { attributes, selects = [], matrices = [], shared_device }) {
  const fields = fieldsOf(form);
  const same =
    (form.dataset.shared !== undefined) === Boolean(shared_device) &&
    fields.length === attributes.length &&
    form.querySelectorAll("[data-select]").length === selects.length &&
    selects.every(({ name, question, help, attributes: options }) => {
      const asked = selectOf(form, name);
      const named = [...(asked?.querySelectorAll("[data-attribute]") ?? [])].map((option) => /** @type {HTMLElement} */ (option).dataset.attribute);
      return asked?.querySelector("[data-select-question]")?.textContent === (question ?? name) && helpOf(asked) === help && named.join() === options.join();
    }) &&
    form.querySelectorAll("[data-matrix]").length === matrices.length &&
    matrices.every(({ name, question, attributes: items }) => {
      const asked = form.querySelector(`[data-matrix="${name}"]`);
      const texts = (/** @type {string} */ part) => [...(asked?.querySelectorAll(part) ?? [])];
      const named = texts("[data-attribute]").map((item) => /** @type {HTMLElement} */ (item).dataset.attribute);
      const { domain = [] } = attributes.find((one) => one.name === items[0]) ?? {};
      return (
        asked?.querySelector("[data-matrix-question]")?.textContent === (question ?? name) &&
        named.join() === items.join() &&
        texts("[data-head]").every(({ textContent }, code) => textContent === domain[code])
      );
    }) &&
    attributes.every(({ name, question, help, ends, oracle, domain, asking, number }, at) => {
      const field = fields[at];
      const asked = field.querySelector("[data-question]")?.textContent;
      const choices = choicesOf(field);
      // What the rows of a table have in common stands above them once.
      const around = field.closest("[data-matrix]") ?? field;
      return (
        field.dataset.attribute === name &&
        asked === (question ?? name) &&
        helpOf(around) === help &&
        [...around.querySelectorAll("[data-end]")].map((end) => end.textContent).join("\n") === (ends ?? []).join("\n") &&
        field.querySelector("[data-unit]")?.textContent === number?.unit &&
        (field.dataset.treatment === "perturbed") === Boolean(oracle) &&
        (field.dataset.kind === "option") === selects.some((select) => select.attributes.includes(name)) &&
        (field.dataset.kind === "option" ||
        (choices.every(([code, text]) => domain[code] === text) &&
        // A number is typed: what it may be is checked when it is read.
        (field.dataset.kind === "number" || choices.length === domain.length - (asking ? 1 : 0))))
      );
    });
  if (!same) {
    throw new ManifestRefused("this page asks something else than the survey's manifest says; nothing was sent");
  }
}

/**
 * Read the answers.
 *
 * @param {HTMLFormElement} form
 * @param {Published} published
 * @returns {{answers: Record<string, string | null>, skipped: Set<string>, asked: Set<string>, faults: Fault[]}} Skipped are
 *   attributes whose missing category stands in for an answer, and what was not asked has none.
 */
export function readForm(form, { attributes, selects = [] }) {
  /** @type {Fault[]} */
  const faults = [];
  /** @type {[string, string | null][]} */
  const answers = [];
  /** @type {Set<string>} */
  const skipped = new Set();
  /** @type {Set<string>} */
  const asked = new Set();
  const there = areAsked(form, attributes);
  fieldsOf(form).forEach((field, at) => {
    if (!there[at]) return;
    const { name, question, domain, missing, read } = attributes[at];
    const given = givenIn(field, attributes[at]);
    const answer = given ?? missing;
    asked.add(name);
    if (given === undefined && missing !== undefined) skipped.add(name);
    if (answer !== undefined && (read ? read(answer) >= 0 : domain.includes(answer))) answers.push([name, answer]);
    else faults.push({ field, question: question ?? name, words: wanted(field) });
  });
  for (const { name, question, attributes: options, at_least: least, at_most: most } of selects) {
    const field = selectOf(form, name);
    const count = answers.filter(([option, answer]) => options.includes(option) && answer === SELECTED).length;
    if (field && (count < least || count > most)) {
      faults.push({ field, question: question ?? name, words: words.say(`fault.select.${limitsKind(least, most, options.length)}`, { least, most }) });
    }
  }
  return { answers: Object.fromEntries(answers), skipped, asked, faults };
}

/**
 * Show the questions that are asked after the answers so far, and no others; an answer to a question that goes away is not kept.
 *
 * @param {HTMLFormElement} form
 * @param {Published} published
 */
export function showAsked(form, { attributes }) {
  const there = areAsked(form, attributes);
  fieldsOf(form).forEach((field, at) => {
    if (!there[at]) empty(field);
    field.hidden = !there[at];
    const matrix = /** @type {HTMLElement | null} */ (field.closest("[data-matrix]"));
    if (matrix) matrix.hidden = !matrix.querySelector("[data-attribute]:not([hidden])");
    const heading = /** @type {HTMLElement | null} */ ((matrix ?? field).previousElementSibling);
    if (heading?.matches(".section")) {
      heading.hidden = !attributes.some(({ section }, other) => section === attributes[at].section && there[other]);
    }
  });
}

/**
 * Whether each question is asked after the answers that the form has.
 *
 * @param {HTMLFormElement} form
 * @param {readonly Attribute[]} attributes
 */
function areAsked(form, attributes) {
  /** @type {number[]} */
  const codes = [];
  return fieldsOf(form).map((field, at) => {
    const { domain, asking, router = 0 } = attributes[at];
    const there = !asking || asking.has(attributes[router].categories[codes[router]]);
    codes.push(there ? domain.indexOf(givenIn(field, attributes[at]) ?? "") : -1);
    return there;
  });
}

/** @param {HTMLElement} field */
function empty(field) {
  for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (field.querySelectorAll("input, select"))) {
    if (["radio", "checkbox"].includes(input.type)) input.checked = false;
    else input.value = "";
  }
}

/**
 * What a field was answered by; undefined for nothing.
 *
 * @param {HTMLElement} field
 * @param {Attribute} attribute
 */
const givenIn = (field, { domain, missing }) =>
  field.dataset.kind === "option"
    ? domain[field.querySelector("input:checked") ? 1 : 0]
    : field.dataset.kind === "number"
      ? typed(field, missing)
      : chosen(field, domain);

/**
 * The same answers in the survey's own words, which are what a report is made of.
 *
 * @param {Record<string, string | null>} answers In the words of `shown`.
 * @param {Published} shown
 * @param {Published} published
 * @returns {Record<string, string | null>}
 */
export const inOwnWords = (answers, shown, published) =>
  Object.fromEntries(
    published.attributes.map(({ name, domain }, at) => {
      const answer = answers[name] ?? "";
      // A number is typed, and has no words.
      return [name, domain[shown.attributes[at].domain.indexOf(answer)] ?? (shown.attributes[at].read ? answers[name] : undefined)];
    }),
  );

/**
 * Show how many questions have an answer.
 *
 * @param {HTMLFormElement} form
 */
export function countAnswers(form) {
  const fields = questionsOf(form).filter(({ hidden }) => !hidden);
  const answered = fields.filter((field) => filledIn(field)).length;
  byId("answered-words").textContent = words.say("answered", { answered, total: fields.length });
  const progress = /** @type {HTMLProgressElement} */ (byId("answered"));
  progress.max = fields.length;
  progress.value = answered;
}

/**
 * Whether there is anything in the form that its respondent put there.
 *
 * @param {HTMLFormElement} form
 */
export const hasAnswers = (form) => fieldsOf(form).some(filledIn);

/** @param {HTMLElement} field */
function filledIn(field) {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (field.querySelectorAll("input, select"));
  return [...inputs].some(({ type, checked, value, validity }) =>
    type === "radio" || type === "checkbox" ? checked : value !== "" || validity.badInput,
  );
}

/**
 * Say beside each question that wants an answer what it wants, and nothing beside the others.
 *
 * @param {HTMLFormElement} form
 * @param {Fault[]} faults
 */
export function markFaults(form, faults) {
  for (const field of questionsOf(form)) {
    const fault = faults.find((one) => one.field === field);
    const place = /** @type {HTMLElement} */ (field.querySelector(".fault"));
    place.hidden = !fault;
    place.textContent = fault ? `${fault.words.charAt(0).toUpperCase()}${fault.words.slice(1)}.` : "";
    field.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
    if (fault) firstInput(field)?.setAttribute("aria-invalid", "true");
  }
}

/**
 * Take the words away beside each question that now has what it wanted; no other question is marked before the next look.
 *
 * @param {HTMLFormElement} form
 * @param {Fault[]} faults Of the form as it is now.
 * @returns {boolean} Whether the last mark went.
 */
export function unmarkAnswered(form, faults) {
  const marked = questionsOf(form).filter((field) => !(/** @type {HTMLElement} */ (field.querySelector(".fault")).hidden));
  const left = faults.filter(({ field }) => marked.includes(field));
  if (left.length < marked.length) markFaults(form, left);
  return marked.length > 0 && left.length === 0;
}

/** What stands below a question to help; undefined for nothing. @param {Element | null} field */
const helpOf = (field) => field?.querySelector("[data-help]")?.textContent;

/** @param {HTMLElement} field @returns {HTMLElement | null} */
export const firstInput = (field) => field.querySelector("input, select");

/** The fields of a form in the manifest's order, which options keep here when they are shown in another. @type {WeakMap<HTMLFormElement, HTMLElement[]>} */
const FIELDS = new WeakMap();

/** @param {HTMLFormElement} form */
function fieldsOf(form) {
  const fields = FIELDS.get(form) ?? /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-attribute]")]);
  FIELDS.set(form, fields);
  return fields;
}

/** What is asked, a select-all being one. @param {HTMLFormElement} form */
const questionsOf = (form) =>
  /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-select], [data-attribute]:not([data-kind=option])")]);

/** @param {HTMLFormElement} form @param {string} name */
const selectOf = (form, name) => /** @type {HTMLElement | null} */ (form.querySelector(`[data-select="${name}"]`));

/**
 * @param {number} least
 * @param {number} most
 * @param {number} options
 */
function limitsKind(least, most, options) {
  if (least === most) return "exactly";
  if (most === options) return least ? "at_least" : "any";
  return least ? "between" : "at_most";
}

/**
 * Codes and names of the choices that a field offers.
 *
 * @param {HTMLElement} field
 * @returns {[number, string | undefined][]}
 */
function choicesOf(field) {
  const options = [...field.querySelectorAll("option[value]:not([value=''])")];
  const inputs = /** @type {HTMLInputElement[]} */ ([...field.querySelectorAll("input[type=radio], input[type=checkbox]")]);
  return [
    ...options.map((option) => /** @type {[number, string]} */ ([Number(option.getAttribute("value")), option.textContent])),
    ...inputs.map((input) => /** @type {[number, string | undefined]} */ ([Number(input.value), input.labels?.[0]?.textContent ?? undefined])),
  ];
}

/**
 * @param {HTMLElement} field
 * @param {readonly string[]} domain
 */
function chosen(field, domain) {
  const input = /** @type {HTMLInputElement | HTMLSelectElement | null} */ (
    field.querySelector("input:checked") ?? field.querySelector("select")
  );
  return input && input.value !== "" ? domain[Number(input.value)] : undefined;
}

/**
 * @param {HTMLElement} field
 * @param {string | undefined} missing
 */
function typed(field, missing) {
  if (field.querySelector("input[type=checkbox]:checked")) return missing;
  const input = /** @type {HTMLInputElement | null} */ (field.querySelector("input[type=number]"));
  if (!input || input.validity.badInput) return "";
  return input.value === "" ? undefined : String(input.valueAsNumber);
}

/** @param {HTMLElement} field */
function wanted(field) {
  const input = /** @type {HTMLInputElement | null} */ (field.querySelector("input[type=number]"));
  return input ? words.say("fault.number", { least: input.min, most: input.max }) : words.say("fault.choice");
}
