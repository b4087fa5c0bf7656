/** The words of this page in its language, and the mark of texts that are in the survey's language. */

import { ENGLISH, Words } from "../words.js";
import { byId, element } from "./elements.js";

const embedded = document.getElementById("words");

/** A page in another language than English has its words in it. */
export const words = embedded ? new Words(JSON.parse(embedded.textContent)) : ENGLISH;

const { language } = byId("survey-form").dataset;
// A survey that does not state its language is taken for English on an English page; elsewhere its language is unknown.
/** @type {Record<string, string>} */
const mark = {
  ...((language || embedded) && { lang: language ?? "" }),
  // Beside the page's own words, which keep their own direction.
  ...(document.documentElement.dir && { dir: document.documentElement.dir }),
};

/** An element with text of the survey. @param {string} tag @param {string} text @param {Record<string, string>} [more] Attributes. */
export const surveyText = (tag, text, more) => element(tag, { ...mark, ...more }, text);
