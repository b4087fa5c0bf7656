/** Reads the form that the server rendered: checks that it asks what the manifest says, and collects the answers. */

import { ManifestRefused } from "../errors.js";
import { byId } from "./elements.js";
import { words } from "./words.js";

/** @typedef {import("../published.js").Published} Published */
/** @typedef {{field: HTMLElement, question: string, words: string}} Fault A question that still wants an answer. */

/**
 * Refuse a form that asks something else than the checked manifest: another question, or a choice under another name.
 *
 * @param {HTMLFormElement} form
 * @param {Published} published
 * @throws {ManifestRefused}
 */
export function checkForm(form, { attributes, shared_device }) {
  const fields = fieldsOf(form);
  const same =
    (form.dataset.shared !== undefined) === Boolean(shared_device) &&
    fields.length === attributes.length &&
    attributes.every(({ name, question, oracle, domain }, at) => {
      const field = fields[at];
      const asked = field.querySelector("[data-question]")?.textContent;
      const choices = choicesOf(field);
      return (
        field.dataset.attribute === name &&
        asked === (question ?? name) &&
        (field.dataset.treatment === "perturbed") === Boolean(oracle) &&
        choices.every(([code, text]) => domain[code] === text) &&
        // A number is typed: what it may be is checked when it is read.
        (field.dataset.kind === "number" || choices.length === domain.length)
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
 * @returns {{answers: Record<string, string | null>, skipped: Set<string>, faults: Fault[]}} Skipped are attributes whose
 *   missing category stands in for an answer.
 */
export function readForm(form, { attributes }) {
  /** @type {Fault[]} */
  const faults = [];
  /** @type {[string, string | null][]} */
  const answers = [];
  /** @type {Set<string>} */
  const skipped = new Set();
  fieldsOf(form).forEach((field, at) => {
    const { name, question, domain, missing } = attributes[at];
    const given = field.dataset.kind === "number" ? typed(field, missing) : chosen(field, domain);
    const answer = given ?? missing;
    if (given === undefined && missing !== undefined) skipped.add(name);
    if (answer !== undefined && domain.includes(answer)) answers.push([name, answer]);
    else faults.push({ field, question: question ?? name, words: wanted(field) });
  });
  return { answers: Object.fromEntries(answers), skipped, faults };
}

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
    published.attributes.map(({ name, domain }, at) => [name, domain[shown.attributes[at].domain.indexOf(answers[name] ?? "")]]),
  );

/**
 * Show how many questions have an answer.
 *
 * @param {HTMLFormElement} form
 */
export function countAnswers(form) {
  const fields = fieldsOf(form);
  const answered = fields.filter((field) => filledIn(field)).length;
  byId("answered-words").textContent = words.say("answered", { answered, total: fields.length });
  /** @type {HTMLProgressElement} */ (byId("answered")).value = answered;
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
  for (const field of fieldsOf(form)) {
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
  const marked = fieldsOf(form).filter((field) => !(/** @type {HTMLElement} */ (field.querySelector(".fault")).hidden));
  const left = faults.filter(({ field }) => marked.includes(field));
  if (left.length < marked.length) markFaults(form, left);
  return marked.length > 0 && left.length === 0;
}

/** @param {HTMLElement} field @returns {HTMLElement | null} */
export const firstInput = (field) => field.querySelector("input, select");

/** @param {HTMLFormElement} form */
const fieldsOf = (form) => /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-attribute]")]);

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
