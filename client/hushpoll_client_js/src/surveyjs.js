/**
 * Adapter for SurveyJS: the answers of a survey made with survey-core (2.5 or newer) are randomised before it
 * completes, and never leave it otherwise.
 *
 * Questions are marked in the survey's JSON: `"hushpoll": "smoker"` names the attribute that a question answers; a
 * matrix names a matrix, `"hushpoll": "habits"`, or an attribute for each row, a checkbox or tagbox a select-all, `"hushpoll": "drugs"`, and a checkbox else one for each choice: `"hushpoll": {"asthma": "has_asthma"}`. Where values and
 * categories differ, `"hushpollCategories": {"5": "very happy"}` translates. SurveyJS's own choices (None, Refuse to answer, Don't know)
 * are the attribute's missing category, unless they are translated or are categories; None of a checkbox is a "no" to each choice.
 * A question that answers a follow-up has a `visibleIf` that says when it is asked; `showFollowUps` writes it.
 * `formOf` makes a form of a survey, marks included.
 */

import { HushpollError, InvalidParameter } from "./errors.js";
import { fieldsOf, marksOf } from "./surveyjs_questions.js";
import { keyOf } from "./surveyjs_refusals.js";

export { formOf } from "./surveyjs_form.js";
export { showFollowUps } from "./surveyjs_questions.js";

/** @typedef {import("./client.js").SurveyClient} SurveyClient */
/** @typedef {import("./outbox.js").Receipt} Receipt */

/**
 * @typedef {object} Attaching
 * @property {readonly string[]} [unsent] Names of questions that are no attribute of the survey: the app keeps their
 *   answers, hushpoll neither reads nor sends them. Every other question must be marked.
 * @property {number} [patience] Seconds for which completing waits for the server, in [0, 120]. After that the survey
 *   completes, and sending goes on behind it.
 * @property {(receipt: Receipt) => void} [onReceipt] Called once with what became of the report; `waiting` where the server
 *   could not be reached: `client.flush()` sends it later.
 * @property {(error: unknown) => void} [onFailure] Called with the reason if the server refuses the report after the
 *   survey was completed, which happens when the server takes longer than `patience`.
 */

// Another person may have answered on this device: respondents are not thanked for answers that are not sent.
const KNOWN =
  "This device has answered this survey before. What was answered now is neither randomised nor sent; another person can answer " +
  "on a device of their own.";

/**
 * Make the marks known to survey-core; it drops what it does not know. To be called before a survey is made.
 *
 * @param {{addProperty: (owner: string, property: object) => unknown}} serializer survey-core's `Serializer`.
 */
export function declareMarks(serializer) {
  for (const name of ["hushpoll", "hushpollCategories"]) {
    // Not shown in an editor's grid, where their JSON could not be typed.
    serializer.addProperty("question", { name, type: "value", category: "hushpoll" });
  }
}

const RANDOMISED = "Randomised on this device before anything is sent.";
const CLEAR = "Sent in clear: the survey's operator can read it.";
const STAYS = "Not sent: it stays on this page.";

/**
 * Say in each question's description how its answer is sent, before anything is answered. A description that the survey
 * has stands behind it.
 *
 * @param {any} survey A model of survey-core.
 * @param {import("./published.js").Published} published
 * @param {readonly string[]} [unsent] As for `attach`.
 */
export function sayTreatment(survey, published, unsent = []) {
  const clear = new Set(published.attributes.filter(({ oracle }) => !oracle).map(({ name }) => name));
  for (const question of survey.getAllQuestions()) {
    const { name, hushpoll, description } = question;
    if (!hushpoll && !unsent.includes(name)) continue;
    const parts = marksOf(question, published);
    const open = Object.keys(parts).filter((part) => clear.has(parts[part]));
    let words = open.length ? CLEAR : RANDOMISED;
    if (!hushpoll) words = STAYS;
    else if (open.length && open.length < Object.keys(parts).length) words = `${RANDOMISED} But ${open.join(", ")}: ${CLEAR}`;
    question.description = description ? `${words} ${description}` : words;
  }
}

/**
 * Take over a survey's completion: the answers are randomised, kept and sent, then wiped from the model, and only then
 * does the survey complete. Where any of it fails, or this device has answered before, the survey does not complete and says
 * why; what waits of an earlier answer is sent.
 *
 * @param {any} survey A model of survey-core.
 * @param {SurveyClient} client
 * @param {Attaching} [options]
 * @returns {Promise<() => void>} Detaches again.
 * @throws {InvalidParameter} If a question is not marked, asks free text, may give what is no category of its attribute, or may be
 *   skipped or refused where the attribute has no missing category; if an attribute is not asked, or asked twice; if the survey sends
 *   its answers elsewhere, or copies one to where it stays. It names the question and says what to change.
 */
export async function attach(survey, client, { unsent = [], patience = 5, onReceipt, onFailure } = {}) {
  refuseLeaks(survey);
  const published = await client.published();
  const fields = fieldsOf(survey, published, unsent);
  const completing = async (/** @type {any} */ _, /** @type {any} */ event) => {
    try {
      const answers = Object.fromEntries(fields.map(({ attribute, answer }) => [attribute, answer()]));
      // SurveyJS keeps values of hidden questions, and shows by them what is asked after these.
      for (const { name, asking, router = 0 } of published.attributes) {
        if (asking && !asking.has(/** @type {string} */ (answers[published.attributes[router].name] ?? ""))) answers[name] = null;
      }
      const kept = await client.randomize(answers);
      // From here on only the report is left; handlers of onComplete find no answer.
      survey.data = unsentOf(survey, unsent);
      const sending = client.send(kept);
      if (kept.known) {
        sending.catch(() => undefined);
        throw new HushpollError(KNOWN);
      }
      const receipt = await Promise.race([sending, later(patience)]);
      if (receipt) onReceipt?.(receipt);
      else sending.then(onReceipt, onFailure ?? (() => undefined));
    } catch (error) {
      event.allow = false;
      // The SDK's own messages hold no answer; those of other errors could.
      event.message = error instanceof HushpollError ? error.message : "The answers could not be sent.";
    }
  };
  survey.onCompleting.add(completing);
  return () => survey.onCompleting.remove(completing);
}

/**
 * The answers that stay with the app, with their comments.
 *
 * @param {any} survey
 * @param {readonly string[]} unsent
 */
function unsentOf(survey, unsent) {
  const keys = unsent.map((name) => keyOf(survey.getQuestionByName(name) ?? { name }));
  return Object.fromEntries(Object.entries(survey.data).filter(([key]) => keys.some((own) => key === own || key === `${own}-Comment`)));
}

/** @param {number} seconds @returns {Promise<undefined>} */
const later = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/**
 * Refuse a survey that would send the answers itself, in clear.
 *
 * @param {any} survey
 */
function refuseLeaks(survey) {
  for (const name of ["surveyPostId", "partialSendEnabled"]) {
    if (survey[name]) {
      throw new InvalidParameter(`${name} would send the answers in clear; leave it out`, { field: name });
    }
  }
}
