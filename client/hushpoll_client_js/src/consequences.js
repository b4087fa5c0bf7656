/**
 * Who can learn what from what is sent: the label of consequences, which `hushpoll_shared/survey/consequences.py` decides and says in the
 * same sentences. The hosted page has it from its server; this is for hosts of the SDK that show a preview of their own.
 */

import { SCRIPT, LABEL } from "./words/en.js";
import { Words } from "./words.js";
import { factor } from "./sentences.js";
import { partsOf } from "./preview.js";

/**
 * The label in one language.
 *
 * @typedef {object} Label
 * @property {string} title
 * @property {string[]} heads Of its columns; there is none for answers in clear where no answer is sent in clear.
 * @property {{party: string, clear: string | undefined, randomised: string, why: string}[]} rows One for each party.
 * @property {string[]} notes How strong a hint is at most, and what holds of all rows.
 */

/**
 * Say who can learn what.
 *
 * @param {import("./published.js").Published} published
 * @param {object} [options]
 * @param {{SCRIPT: Record<string, unknown>, LABEL: Record<string, string>}} [options.catalogue] A module such as `hushpoll/words/de`; English
 *   if none is given.
 * @param {boolean} [options.hosted] Whether the scripts of the page come from the survey's own server.
 * @returns {Label}
 */
export function consequences(published, { catalogue = { SCRIPT, LABEL }, hosted = false } = {}) {
  const { attributes, submission, release, minimum_batch: count } = published;
  const texts = /** @type {any} */ ({ ...catalogue.SCRIPT, ...catalogue.LABEL });
  /** @type {any} Its keys are those of both catalogues. */
  const words = new Words(texts);
  // Of an open survey nothing is said to the people who ask.
  const used = submission === "open" ? [] : [submission];
  const inClear = attributes.some(({ oracle }) => !oracle);
  const { level, total, single } = partsOf(published);
  const [strength, one] = [factor(total, words), factor(single, words)];
  const isBeyond = (/** @type {string} */ spelled) => spelled === words.say("factor.beyond");
  const beyond = isBeyond(strength);
  const hint = words.say(`label.hint.${beyond && level < 3 ? "beyond" : level}`, { factor: strength });
  const released = release === "end" || release === "immediate" ? release : "batches";
  const row = (/** @type {string} */ party, /** @type {string} */ clear, /** @type {string} */ randomised, /** @type {string[]} */ ...why) => ({
    party: words.say(`label.${party}`),
    clear: inClear ? words.say(`label.${clear}`) : undefined,
    randomised,
    why: why.map((key) => words.say(`label.${party}.${key}`, { count })).join(" "),
  });
  return {
    title: words.say("label.title"),
    heads: ["who", ...(inClear ? ["in_clear"] : []), "randomised"].map((key) => words.say(`label.${key}`)),
    rows: [
      row("team", "answer", hint, released, ...used),
      row("operator", "answer", hosted ? words.say("label.scripts", { hint }) : hint, submission, ...(hosted ? ["scripts"] : [])),
      row("intruder", "answer", hint, "why"),
      row("court", "answer", hint, "why"),
      row("household", "nothing", words.say("label.nothing"), "why"),
    ],
    notes: [
      words.say(beyond ? "limit.survey.beyond" : "limit.survey", { factor: strength }),
      ...(single === total || isBeyond(one) ? [] : [words.say("label.single", { factor: one })]),
      ...(inClear ? [words.say("label.clear")] : []),
      words.say("label.kept"),
    ],
  };
}
