/** Shows beside each question how well its answer will be protected, before anything is answered. */

import { preview } from "../preview.js";
import { byId, element } from "./elements.js";

/**
 * @param {HTMLFormElement} form Checked against the manifest.
 * @param {import("../published.js").Published} published
 */
export function sayTreatment(form, published) {
  const { notices, perturbed } = preview(published);
  byId("survey-notices").replaceChildren(...notices.map((words) => element("p", {}, words)));
  for (const { name, protection } of perturbed) {
    form.querySelector(`[data-attribute="${name}"] .treatment`)?.append(` ${protection.words}`);
  }
}
