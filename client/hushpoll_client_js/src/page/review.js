/** Before anything is sent: what leaves in clear, what leaves randomised, and what that reveals. */

import { percent } from "../preview.js";
import { byId, element } from "./elements.js";

/**
 * @param {import("../preview.js").Preview} shown
 * @param {string} spent Epsilon that this device has spent on other surveys.
 */
export function showReview({ clear, perturbed, epsilon, digest, recordSize }, spent) {
  byId("review-clear").replaceChildren(
    element("h3", {}, clear.length ? "Sent as you answered" : "Nothing is sent as you answered it"),
    ...(clear.length
      ? [
          element("p", {}, "The survey's operator can read these answers. They can hint at the others, where the two go together."),
          element("dl", {}, ...clear.flatMap((one) => [
            element("dt", {}, one.question ?? one.name),
            element("dd", {}, one.answer ?? ""),
          ])),
        ]
      : []),
  );
  byId("review-perturbed").replaceChildren(
    element("h3", {}, "Randomised on this device, before anything is sent"),
    element("p", {}, "Each of these answers is mixed with chance, once. What is sent is not your answer, and whoever reads it, the operator included, can only guess:"),
    element("ul", {}, ...perturbed.map((one) =>
      element("li", {},
        element("strong", {}, one.question ?? one.name),
        element("span", {}, ` The best guess from what is sent is right ${percent(one.bestGuess)} of the time; a blind guess ` +
          `among the ${one.k} answers, ${percent(1 / one.k)}. (${one.protocol}, epsilon ${one.epsilon})`),
      ),
    )),
  );
  byId("review-cost").replaceChildren(
    element("h3", {}, "What it costs you"),
    element("p", {}, `Privacy loss (epsilon) of this survey: at most ${epsilon}. ` +
      (spent === "0" ? "This device has spent none before." : `This device has spent ${spent} on surveys before.`)),
    element("p", {}, `${recordSize} bytes are sent, whatever the answers are, and a random number to tell a repeat by.`),
    element("p", { class: "digest" }, "Survey digest: ", element("code", {}, digest)),
  );
}
