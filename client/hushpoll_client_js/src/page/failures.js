/** What a respondent reads when something fails: a sentence in the page's language, then the English details of the error. */

import {
  BudgetExhausted,
  HushpollError,
  InvalidParameter,
  ManifestRefused,
  StorageError,
  TransportError,
} from "../errors.js";
import { element } from "./elements.js";
import { Lacking } from "./needs.js";
import { words } from "./words.js";

/**
 * @param {unknown} error
 * @returns {Node[]} Paragraphs.
 */
export function failure(error) {
  const sentence = element("p", {}, words.say(keyOf(error)));
  // What is no error of ours could quote an answer.
  if (!(error instanceof HushpollError)) return [sentence];
  const detail = element("span", { lang: "en" }, error.message);
  return [sentence, element("p", { class: "soft" }, ...words.parts("error.detail", { detail }))];
}

/** @param {unknown} error @returns {import("../words.js").Key} */
function keyOf(error) {
  if (error instanceof Lacking) return error.insecure ? "error.insecure" : "error.browser";
  if (error instanceof ManifestRefused) return "error.manifest";
  if (error instanceof StorageError) return "error.storage";
  if (error instanceof BudgetExhausted) return "error.budget";
  if (error instanceof InvalidParameter && (error.field === "token" || error.field === "invitation")) return "error.token";
  if (!(error instanceof TransportError)) return "error.other";
  switch (error.problem?.["code"]) {
    case "unauthorized":
    case "invitation-redeemed":
      return "error.unauthorized";
    case "survey-closed":
      return "error.survey-closed";
    case "unknown-digest":
      return "error.unknown-digest";
    default:
      return "error.transport";
  }
}
