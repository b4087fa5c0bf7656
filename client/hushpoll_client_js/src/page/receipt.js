/** The step after sending: shows what became of the answers, and the receipt that the respondent may keep. */

import { byId, element } from "./elements.js";

/** @typedef {Omit<import("../storage.js").Entry, "report" | "token">} Entry */
/** @typedef {import("../published.js").Published} Published */
/** @typedef {"unreachable" | "given up" | "failed"} Notice */

/**
 * What happened since the page was loaded.
 *
 * @typedef {object} Moment
 * @property {boolean} own The answers were given on this page.
 * @property {boolean} dropped Other answers were given on this page, and were not taken.
 * @property {boolean} sending The report is on its way.
 * @property {number | undefined} person Who answers, where several people may answer on this device.
 */

const DROPPED = "What you have just answered here was neither randomised nor sent, and it is no longer on this page.";
const WHOSE =
  "If you gave these answers, nothing is left for you to do. If another person did, you cannot answer here as well: a browser " +
  "answers a survey once. Use a device of your own, or a browser profile of your own on this one.";
const ANOTHER = "If you are another person, choose “I am another person” above.";
const OTHER_TOKEN =
  "If it was the token that the server refused, open the survey on this device by a link with another token: the same report is then sent again.";
const NO_CHANGE = "They may have left this device already, so they cannot be changed any more.";

/**
 * @param {Entry["state"]} state
 * @param {Published["submission"]} submission
 * @param {Moment} moment
 * @returns {string[]} Heading, then paragraphs.
 */
function wordsFor(state, submission, { own, sending, person }) {
  const answered = `${person === undefined ? "This device" : `Person ${person}`} has answered this survey.`;
  const whose = person === undefined ? WHOSE : ANOTHER;
  if (state === "withdrawn") return ["You have withdrawn your answers to this survey.", "They are not given again."];
  if (state === "refused") {
    const spent = "It refused the report. The epsilon that it spent stays counted.";
    return ["The server did not take the answers.", spent, ...(submission === "token" ? [OTHER_TOKEN] : [])];
  }
  if (state === "accepted") {
    if (own) return ["Thank you. Your answers have arrived.", "The server has stored the report that your device sent, once."];
    return [answered, "The report has arrived, and it counts once.", whose];
  }
  const kept = "The answers are randomised, and this browser keeps the report until the server has taken it.";
  if (sending && own) return ["Sending your answers …", `${kept} ${NO_CHANGE}`];
  const later = "It is sent when the server can be reached and this page is open; you may close the page and come back later.";
  if (own) return ["Your answers wait on this device.", `${kept} ${NO_CHANGE} ${later}`];
  return [answered, `The answers wait to be sent. ${kept} ${NO_CHANGE} ${later}`, whose];
}

/**
 * @param {Entry} entry
 * @param {Published} published
 * @param {Moment & {spent: string, reason?: string | undefined}} moment With the epsilon that this device has spent in all, and
 *   why the server refused the report.
 */
export function showReceipt({ state, survey, version, epsilon, digest, api, id }, { title, attributes, submission }, moment) {
  const { spent, dropped, reason, person } = moment;
  const server = api.replace(/\/api\/v1$/, "");
  const facts = { survey, version, title, server, digest, report: id, epsilon, state };
  const file = new Blob([`${JSON.stringify(facts, null, 2)}\n`], { type: "application/json" });
  const [heading, ...words] = wordsFor(state, submission, moment);
  const clear = attributes.filter(({ oracle }) => !oracle).map(({ name, question }) => question ?? name);
  byId("receipt-heading").textContent = heading;
  byId("notice").replaceChildren(...(dropped ? [element("p", { class: "dropped" }, DROPPED)] : []));
  byId("receipt-words").replaceChildren(
    ...[...words, ...(reason ? [`Reason: ${reason}`] : [])].map((text) => element("p", {}, text)),
    element("dl", {},
      ...Object.entries({
        Survey: `${title} (${survey}, version ${version})`,
        Server: server,
        "Privacy loss (epsilon)": `${epsilon} for this survey, ${spent} ${person === undefined ? "on this device" : `by person ${person}`} in all`,
        ...(id && { "Number of the report": id }),
        Digest: digest,
      }).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    ),
    element("div", { class: "panel" },
      element("h3", {}, "What is kept"),
      ...kept(state, clear).map((text) => element("p", {}, text)),
    ),
    element("p", {}, element("a", { href: URL.createObjectURL(file), download: `${survey}-${version}-receipt.json`, class: "button" }, "Save this receipt")),
  );
}

/**
 * @param {Entry["state"]} state
 * @param {string[]} clear Questions whose answers are sent as they are.
 */
function kept(state, clear) {
  const asGiven = clear.map((question) => `“${question}”`).join(", ");
  const content = `The report holds the randomised answers${asGiven && `, and as you gave them the answers to ${asGiven}`}. `;
  const proof =
    "In this browser: that it has answered this survey, the epsilon, and the number of the report. They are there to refuse a second answer " +
    "and to show that the first was given. They stay until this site's data are deleted in the browser; then it could answer again. ";
  const here = `The report is kept too. ${content}People who use this browser could read it. `;
  const stays =
    "It cannot be taken back: once the server has mixed the reports, it keeps nothing that tells which of them has this number.";
  switch (state) {
    case "withdrawn":
      return ["In this browser: that it has answered this survey, and the epsilon.", "What was sent before stays on the server."];
    case "accepted":
      return [
        `${proof}Neither the answers nor the report is kept here.`,
        `On the server: the report, for as long as the survey's operator keeps it. ${content}${stays}`,
      ];
    case "refused":
      return [`${proof}${here}It stays with them, since no other may be made of these answers.`];
    default:
      return [
        `${proof}${here}It is deleted here when the server has taken it.`,
        `On the server, once it has taken the report: the report, for as long as the survey's operator keeps it. ${stays}`,
      ];
  }
}

const NOTICES = {
  unreachable: "The server cannot be reached. This page goes on trying. The report may have arrived all the same, with only the server's reply lost; sent again, it counts once.",
  "given up": "The server could not be reached for some minutes. The report is kept here. It may have arrived all the same; sent again, it counts once.",
  failed: "This page failed while it was sending. The report is kept here, and it may have arrived; sent again, it counts once.",
};

/**
 * Say, where the person looks, why the report is not acknowledged yet.
 *
 * @param {Notice} notice
 * @param {() => void} tryAgain
 */
export function showNotice(notice, tryAgain) {
  const button = element("button", { type: "button", class: "second" }, "Try again now");
  button.addEventListener("click", tryAgain);
  const place = byId("notice");
  // Said once, not at each attempt.
  if (place.textContent?.includes(NOTICES[notice])) return;
  place.replaceChildren(...place.querySelectorAll(".dropped"), element("p", {}, NOTICES[notice]), button);
  place.scrollIntoView({ block: "nearest" });
}
