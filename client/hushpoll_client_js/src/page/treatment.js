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
  /** @type {Map<string, string>} */
  const ofItems = new Map();
  for (const { name: select, selectAll, questions, protection, sentAtRandom } of perturbed) {
    if (selectAll) form.querySelector(`[data-select="${select}"] .treatment`)?.append(` ${protection.words}`);
    else for (const { name } of questions) {
      // In quotes, since a question has a mark of its own at its end.
      const others = questions.filter((other) => other.name !== name).map((other) => words.say("kept.question", { question: other.question ?? other.name }));
      const together = others.length ? `${words.say("block.with", { questions: others.join(", ") })} ` : "";
      const own = [protection.words, sentAtRandom].filter(Boolean).join(" ");
      form.querySelector(`[data-attribute="${name}"] .treatment`)?.append(` ${together}${own}`);
      const whole = published.matrices?.find(({ attributes }) => attributes.join() === questions.map((one) => one.name).join());
      ofItems.set(name, whole ? own : together ? `${together}${own}` : words.say("each", { sentence: own }));
    }
  }
  for (const { name, attributes } of published.matrices ?? []) {
    const said = attributes.flatMap((item) => ofItems.get(item) ?? []);
    // Once where it is the same for all items, else below each.
    if (new Set(said).size === 1) form.querySelector(`[data-matrix="${name}"] .treatment`)?.append(` ${said[0]}`);
    else said.forEach((sentence, at) => form.querySelector(`[data-attribute="${attributes[at]}"] legend`)?.after(element("p", { class: "treatment" }, sentence)));
  }
}
