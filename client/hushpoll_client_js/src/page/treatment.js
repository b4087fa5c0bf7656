/** Shows beside each question how well its answer will be protected, before anything is answered. */

import { preview } from "../preview.js";
import { byId, element } from "./elements.js";
import { words } from "./words.js";

/**
 * @param {HTMLFormElement} form Checked against the manifest.
 * @param {import("../published.js").Published} published
 */
export function sayTreatment(form, published) {
  const { notices, perturbed } = preview(published, undefined, words);
  byId("survey-notices").replaceChildren(...notices.map((notice) => element("p", {}, notice)));
  for (const { name: select, selectAll, questions, protection, sentAtRandom } of perturbed) {
    if (selectAll) form.querySelector(`[data-select="${select}"] .treatment`)?.append(` ${protection.words}`);
    else for (const { name } of questions) {
      const others = questions.filter((other) => other.name !== name).map((other) => other.question ?? other.name);
      const together = others.length ? `${words.say("block.with", { questions: others.join(" / ") })} ` : "";
      form.querySelector(`[data-attribute="${name}"] .treatment`)?.append(` ${together}${[protection.words, sentAtRandom].filter(Boolean).join(" ")}`);
    }
  }
}
