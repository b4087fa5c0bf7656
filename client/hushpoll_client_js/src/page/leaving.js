/** What leaving the page does to answers: a warning comes before they are lost, and none stays after a warning. */

import { hasAnswers } from "./form.js";

/** @typedef {"survey" | "review" | "receipt"} Step */

/**
 * Have the browser ask before the page is left, while it has answers that are not kept as a report.
 *
 * @param {HTMLFormElement} form
 */
export function guardAnswers(form) {
  // The steps scroll to where they begin.
  history.scrollRestoration = "manual";
  let warned = false;
  addEventListener("beforeunload", (event) => {
    if (!hasAnswers(form)) return;
    warned = true;
    event.preventDefault();
    // What browsers asked for before `preventDefault` was enough.
    event.returnValue = true;
  });
  // A page that is left is often frozen, not closed. A respondent who was warned expects the answers to be gone; without
  // a warning, as on some phones, they are there when the respondent returns.
  addEventListener("pagehide", () => warned && form.reset());
}

/**
 * Note in the history what is shown; the browser's "back" then leads from the review to the form.
 *
 * @param {Step} name
 * @param {boolean} [added] Whether this is a step after the current one, and not another state of it.
 */
export function step(name, added) {
  history[added ? "pushState" : "replaceState"]({ step: name }, "");
}

/** @returns {Step | undefined} What the history says is shown. */
export const stepOf = () => history.state?.step;
