/** The hosted survey: ask, show what would be sent, send, and give a receipt. */

import { SurveyClient } from "../client.js";
import { formatDecimal, parseDecimal } from "../decimals.js";
import { HushpollError } from "../errors.js";
import { preview } from "../preview.js";
import { byId, element, showPart, showProblem } from "./elements.js";
import { checkForm, firstInput, readForm } from "./form.js";
import { readLink } from "./link.js";
import { keepForOffline } from "./offline.js";
import { showReceipt } from "./receipt.js";
import { showReview } from "./review.js";

/** @typedef {import("../published.js").Published} Published */

const form = /** @type {HTMLFormElement} */ (byId("survey-form"));
const { server = "", survey = "", version, digest = "", worker = "", scope = "" } = form.dataset;
const link = readLink(location, history);

const client = new SurveyClient(location.origin + server, survey, {
  version: Number(version),
  digest,
  ...link,
  pacing: { sleep: waitForNetwork, random: Math.random },
});

/** @param {number} seconds */
function waitForNetwork(seconds) {
  say("The server cannot be reached. Trying again …");
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    addEventListener("online", () => resolve(clearTimeout(timer)), { once: true });
  });
}

/** @param {string} words */
function say(words) {
  byId("progress").textContent = words;
}

/**
 * Run what a respondent asked for, and say what went wrong.
 *
 * @param {() => Promise<void>} act
 */
async function attempt(act) {
  showProblem();
  try {
    await act();
  } catch (error) {
    // What is no error of ours could quote an answer.
    showProblem(element("p", {}, error instanceof HushpollError ? error.message : "This page failed; nothing was sent."));
  }
  say("");
}

/**
 * Epsilon that this device has spent, in all.
 *
 * @param {{epsilon: string}[]} entries
 */
const total = (entries) => formatDecimal(entries.reduce((sum, one) => sum + parseDecimal(one.epsilon, "epsilon"), 0n));

/**
 * Show what became of an earlier answer, if this device has given one to this survey.
 *
 * @param {Published} published
 * @param {string} [reason]
 */
async function showAnswered(published, reason) {
  const entries = await client.ledger();
  const entry = entries.find((one) => one.digest === published.digest);
  if (!entry) return undefined;
  showReceipt(entry, { title: published.title, spent: total(entries), reason });
  showPart("receipt");
  return entry.state;
}

/** @param {Published} published */
async function flush(published) {
  say("Sending …");
  await client.flush();
  await showAnswered(published);
}

/** @param {Published} published */
async function review(published) {
  const { answers, faults } = readForm(form, published);
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  if (faults.length) {
    for (const { field } of faults) firstInput(field)?.setAttribute("aria-invalid", "true");
    showProblem(
      element("p", {}, faults.length === 1 ? "One question wants an answer:" : `${faults.length} questions want an answer:`),
      element("ul", {}, ...faults.map(({ field, question, words }) =>
        element("li", {}, element("a", { href: `#${firstInput(field)?.id}` }, question), `: ${words}`),
      )),
    );
    return;
  }
  showReview(preview(published, answers), total(await client.ledger()));
  showPart("review");
}

/** @param {Published} published */
async function send(published) {
  const button = /** @type {HTMLButtonElement} */ (byId("send"));
  button.disabled = true;
  try {
    // Where the browser may throw data away, ask it not to: it would forget what was spent.
    await navigator.storage?.persist?.();
    const kept = await client.randomize(readForm(form, published).answers);
    form.reset();
    say("Sending …");
    let reason;
    try {
      await client.send(kept);
    } catch (error) {
      if (!(error instanceof HushpollError)) throw error;
      reason = error.message;
    }
    await showAnswered(published, reason);
  } finally {
    button.disabled = false;
  }
}

// Not awaited: what waits may wait long for a network.
attempt(async () => {
  const published = await client.published();
  checkForm(form, published);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => review(published));
  });
  byId("change").addEventListener("click", () => showPart("survey"));
  byId("send").addEventListener("click", () => attempt(() => send(published)));
  addEventListener("online", () => attempt(() => flush(published)));
  /** @type {HTMLButtonElement} */ (byId("go-on")).disabled = false;
  if ((await showAnswered(published)) === "waiting") await flush(published);
});
const loaded = /** @type {NodeListOf<HTMLLinkElement>} */ (document.querySelectorAll("link[data-kept]"));
await keepForOffline({
  worker,
  scope,
  urls: [
    location.pathname,
    `${server}/api/v1/surveys/${survey}/versions/${version}`,
    ...[...loaded].map((one) => one.href),
  ],
});
