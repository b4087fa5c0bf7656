/** The step after sending: shows what became of the answers, and the receipt that the respondent may keep. */

import { byId, element } from "./elements.js";
import { surveyText, words } from "./words.js";

/** @typedef {Awaited<ReturnType<import("../client.js").SurveyClient["ledger"]>>[number]} Entry */
/** @typedef {import("../published.js").Published} Published */
/** @typedef {"unreachable" | "given_up" | "failed"} Notice */

/**
 * What happened since the page was loaded.
 *
 * @typedef {object} Moment
 * @property {boolean} own The answers were given on this page.
 * @property {boolean} dropped Other answers were given on this page, and were not taken.
 * @property {boolean} sending The report is on its way.
 * @property {() => void} takeBack Withdraws the answers.
 * @property {number | undefined} person Who answers, where several people may answer on this device.
 */

/**
 * @param {Entry} entry
 * @param {Published["submission"]} submission
 * @param {Moment} moment
 * @returns {string[]} Heading, then paragraphs.
 */
function wordsFor({ state, taken, withdrawable }, submission, { own, sending, person }) {
  const answered = person === undefined ? words.say("receipt.answered") : words.say("receipt.answered.person", { person });
  const whose = words.say(person === undefined ? "receipt.whose" : "receipt.whose.person");
  if (state === "withdrawn") {
    const said = words.say(withdrawable ? "receipt.unanswered" : taken === "deleted" || taken === "not-here" ? `receipt.${taken}` : "kept.withdrawn.server");
    return [words.say("receipt.withdrawn"), said, words.say("receipt.withdrawn.words")];
  }
  if (state === "refused") {
    const token = submission === "token" ? [words.say("receipt.refused.token")] : [];
    return [words.say("receipt.refused"), words.say("receipt.refused.words"), ...token];
  }
  if (state === "accepted") {
    if (own) return [words.say("receipt.thanks"), words.say("receipt.thanks.words")];
    return [answered, words.say("receipt.arrived"), whose];
  }
  const kept = `${words.say("receipt.until")} ${words.say("receipt.no_change")}`;
  if (sending && own) return [words.say("receipt.sending"), kept];
  const later = `${kept} ${words.say("receipt.later")}`;
  if (own) return [words.say("receipt.waiting"), later];
  return [answered, `${words.say("receipt.wait")} ${later}`, whose];
}

/**
 * @param {Entry} entry
 * @param {Published} published
 * @param {Moment & {spent: string, reasons?: Node[]}} moment With the epsilon that this device has spent in all, and paragraphs on
 *   why the server refused the report.
 */
export function showReceipt(entry, { title, attributes, submission, thanks }, moment) {
  const { state, survey, version, epsilon, digest, api, id } = entry;
  const { spent, dropped, reasons = [], person } = moment;
  const server = api.replace(/\/api\/v1$/, "");
  const facts = { survey, version, title, server, digest, report: id, epsilon, state };
  const file = new Blob([`${JSON.stringify(facts, null, 2)}\n`], { type: "application/json" });
  const [heading, ...paragraphs] = wordsFor(entry, submission, moment);
  const clear = attributes.filter(({ oracle }) => !oracle).map(({ name, question }) => question ?? name);
  const sums = { epsilon: words.decimal(epsilon), spent: words.decimal(spent) };
  byId("receipt-heading").textContent = heading;
  byId("notice").replaceChildren(...(dropped ? [element("p", { class: "dropped" }, words.say("receipt.dropped"))] : []));
  byId("receipt-words").replaceChildren(
    ...(thanks && ["accepted", "waiting"].includes(state) ? [surveyText("p", thanks, { class: "description" })] : []),
    ...paragraphs.map((text) => element("p", {}, text)),
    ...reasons,
    element("dl", {},
      ...row("receipt.survey", ...words.parts("receipt.version", { title: surveyText("span", title), survey, version })),
      ...row("receipt.server", server),
      ...row("receipt.loss", person === undefined ? words.say("receipt.spent", sums) : words.say("receipt.spent.person", { ...sums, person })),
      ...(id ? row("receipt.number", id) : []),
      ...row("receipt.digest", digest),
    ),
    element("div", { class: "panel" },
      element("h3", {}, words.say("receipt.kept")),
      ...kept(entry, clear).map((parts) => element("p", {}, ...parts)),
    ),
    ...takingBack(entry, moment),
    element("p", {}, element("a", { href: URL.createObjectURL(file), download: `${survey}-${version}-receipt.json`, class: "button" }, words.say("receipt.save"))),
  );
}

/** @param {import("../words.js").Key} name @param {...(Node | string)} value */
const row = (name, ...value) => [element("dt", {}, words.say(name)), element("dd", {}, ...value)];

/**
 * The way to take the answers back, folded: a button beside a text that says what follows.
 *
 * @param {Entry} entry
 * @param {Moment} moment
 */
function takingBack({ state, withdrawable }, { takeBack }) {
  if (state === "withdrawn" || !withdrawable) return [];
  const button = /** @type {HTMLButtonElement} */ (element("button", { type: "button", class: "second", id: "take-back" }, words.say("receipt.take_back")));
  button.addEventListener("click", () => {
    button.disabled = true;
    takeBack();
  });
  return [element("details", {}, element("summary", {}, words.say("receipt.take_back")), element("p", {}, words.say("receipt.take_back.words")), button)];
}

/**
 * @param {Entry} entry
 * @param {string[]} clear Questions whose answers are sent as they are.
 * @returns {(Node | string)[][]} Paragraphs.
 */
function kept({ state, taken, withdrawable }, clear) {
  /** @type {import("../words.js").Key[]} */
  const proof = ["kept.proof", ...(withdrawable ? [/** @type {const} */ ("kept.secret")] : [])];
  const stays = withdrawable ? "kept.stays" : "kept.fixed";
  const said = (/** @type {import("../words.js").Key[]} */ ...keys) => keys.map((key) => words.say(key)).join(" ");
  const asGiven = element("span", {});
  for (const question of clear) {
    asGiven.append(...(asGiven.firstChild ? [", "] : []), ...words.parts("kept.question", { question: surveyText("span", question) }));
  }
  const content = clear.length ? words.parts("kept.content_clear", { questions: asGiven }) : [words.say("kept.content")];
  switch (state) {
    case "withdrawn":
      return [[said("kept.withdrawn")], [said(taken === "deleted" ? "kept.number" : withdrawable || taken === "not-here" ? "kept.among" : "kept.withdrawn.server")]];
    case "accepted":
      return [[said(...proof, "kept.not_here")], [said("kept.server"), " ", ...content, " ", said(stays)]];
    case "refused":
      return [[said(...proof, "kept.here"), " ", ...content, " ", said("kept.readable", "kept.refused")]];
    default:
      return [[said(...proof, "kept.here"), " ", ...content, " ", said("kept.readable", "kept.deleted")], [said("kept.server_later", stays)]];
  }
}

/**
 * Say, where the person looks, why the report is not acknowledged yet.
 *
 * @param {Notice} notice
 * @param {() => void} tryAgain
 */
export function showNotice(notice, tryAgain) {
  const button = element("button", { type: "button", class: "second" }, words.say("notice.again"));
  button.addEventListener("click", tryAgain);
  const place = byId("notice");
  // Said once, not at each attempt.
  const text = words.say(`notice.${notice}`);
  if (place.textContent?.includes(text)) return;
  place.replaceChildren(...place.querySelectorAll(".dropped"), element("p", {}, text), button);
  place.scrollIntoView({ block: "nearest" });
}
