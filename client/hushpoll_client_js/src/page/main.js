/** The hosted survey, step by step: ask, show what would be sent, send, and give a receipt. */

import { SurveyClient } from "../client.js";
import { formatDecimal, parseDecimal } from "../decimals.js";
import { HushpollError } from "../errors.js";
import { entriesOf } from "../outbox.js";
import { preview } from "../preview.js";
import { indexedDbStorage } from "../storage.js";
import { PACING } from "../transport.js";
import { byId, element, showPart, showProblem } from "./elements.js";
import { failure } from "./failures.js";
import { checkForm, countAnswers, firstInput, hasAnswers, inOwnWords, markFaults, readForm, showAsked, unmarkAnswered } from "./form.js";
import { forgetTaken } from "./forgetting.js";
import { guardAnswers, step, stepOf } from "./leaving.js";
import { offerLanguages } from "./languages.js";
import { readLink } from "./link.js";
import { checkBrowser } from "./needs.js";
import { keepForOffline } from "./offline.js";
import { drawOrders } from "./order.js";
import { pagesOf } from "./pages.js";
import { currentPerson, databaseOf, otherPeople, rememberPerson, showPeople } from "./people.js";
import { showNotice, showReceipt } from "./receipt.js";
import { showReview } from "./review.js";
import { sayTreatment } from "./treatment.js";
import { surveyText, words } from "./words.js";
import { inLanguage } from "../wording.js";

/** @typedef {import("../published.js").Published} Published */
/** @typedef {import("./receipt.js").Moment} Moment */

const form = /** @type {HTMLFormElement} */ (byId("survey-form"));
const { server = "", survey = "", version, digest = "", worker = "", scope = "", language, shared } = form.dataset;
const link = readLink(location, history);
const person = shared === undefined ? 1 : currentPerson();
const storage = indexedDbStorage(databaseOf(person));

/** What happened since this page was loaded. @type {Moment} */
const moment = { own: false, dropped: false, sending: false, takeBack: () => {}, person: shared === undefined ? undefined : person };
/** Sends what waits, and ends the wait for the next attempt. */
let tryAgain = () => {};
let tryNow = () => {};

/** The form, a section at a time; made once the form is checked. @type {import("./pages.js").Pages} */
let pages;

/** Of the current person; made once the browser is known to have what it needs. @type {SurveyClient} */
let client;

/** @param {import("../storage.js").Storage} storage Of one person. */
function clientOf(storage) {
  return new SurveyClient(location.origin + server, survey, {
    version: Number(version),
    digest,
    storage,
    // This page asks before each answer: its review says what is sent, and its button sends it.
    requireConsent: false,
    // The page says that it goes on trying.
    wait: 120,
    ...link,
    pacing: { sleep: waitForNetwork, random: Math.random, part: PACING.sleep },
  });
}

/** The survey as the respondent reads it; answers leave in the survey's own words. @param {Published} published */
const shown = (published) => inLanguage(published, language);

/** @param {number} seconds */
function waitForNetwork(seconds) {
  if (moment.sending) showNotice("unreachable", tryAgain);
  else say(words.say("trying"));
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    tryNow = () => resolve(clearTimeout(timer));
    addEventListener("online", tryNow, { once: true });
  });
}

/** @param {string} text Beside the button of the form. */
function say(text) {
  byId("progress").textContent = text;
}

/** The page has started: what stands there for a script that does not is taken away. */
const started = () => document.getElementById("stalled")?.remove();

/**
 * Run what a respondent asked for before anything was kept, and say what went wrong.
 *
 * @param {() => Promise<unknown>} act
 */
async function attempt(act) {
  showProblem();
  try {
    await act();
  } catch (error) {
    started();
    showProblem(...failure(error));
  }
  say("");
}

/**
 * Epsilon that this device has spent, in all.
 *
 * @param {{epsilon: string}[]} entries
 */
const total = (entries) => formatDecimal(entries.reduce((sum, entry) => sum + parseDecimal(entry.epsilon, "epsilon"), 0n));

/** @param {Published} published */
const entryOf = async (published) => (await client.ledger()).find((entry) => entry.digest === published.digest);

/**
 * Show what became of the answers that this device has given to this survey, if it has.
 *
 * @param {Published} published
 * @param {Node[]} [reasons] Paragraphs on why the server refused them.
 */
async function showAnswered(published, reasons = []) {
  const entry = await entryOf(published);
  if (!entry) return undefined;
  showReceipt(entry, shown(published), { ...moment, reasons, spent: total(await client.ledger()) });
  started();
  step("receipt");
  showPart("receipt");
  return entry.state;
}

/**
 * Send what is kept of this survey. From here on the report may have left this device, whatever goes wrong.
 *
 * @param {Published} published
 */
async function deliver(published) {
  if (moment.sending) return tryNow();
  moment.sending = true;
  /** @type {import("./receipt.js").Notice | undefined} */
  let notice;
  /** @type {Node[]} */
  let reasons = [];
  try {
    const state = await showAnswered(published);
    if (!state) return undefined;
    const entry = await entryOf(published);
    if (entry && state === "waiting" && (await client.send(entry)).status === "waiting") notice = "given_up";
  } catch (error) {
    if (error instanceof HushpollError) reasons = failure(error);
    else notice = "failed";
  } finally {
    moment.sending = false;
  }
  await attempt(() => showAnswered(published, reasons));
  if (notice) showNotice(notice, tryAgain);
  // Reports for other surveys of this server.
  else await client.flush().catch(() => undefined);
  await sendForOthers();
  return undefined;
}

/** The survey, whose questions are those of the form. */
async function checked() {
  const published = await client.published();
  checkForm(form, shown(published));
  return published;
}

/** Send the reports that wait in the ledgers of the other people who use this device. */
async function sendForOthers() {
  if (shared === undefined) return;
  for (const person of otherPeople()) {
    await clientOf(indexedDbStorage(databaseOf(person))).flush().catch(() => undefined);
  }
}

/**
 * @param {Published} published
 * @param {boolean} [again] Whether the respondent comes back to this step by the browser's own buttons.
 */
async function review(published, again) {
  // Another tab, or another person, may have answered meanwhile.
  if (await entryOf(published)) return drop(published);
  const { faults, ...own } = readForm(form, shown(published));
  if (faults.length) {
    showPart("survey");
    pages.to(faults[0].field);
    sayFaults(faults);
    return undefined;
  }
  markFaults(form, faults);
  // Not awaited, and not at loading: a program that looks at links in mails opens pages, too. What fails is said when the report is kept.
  client.redeem().catch(() => undefined);
  const others = (await client.ledger()).filter((entry) => entry.digest !== published.digest);
  showReview(preview(shown(published), own.answers, words), own, total(others), moment.person);
  if (!again) step("review", true);
  showPart("review");
  return undefined;
}

/**
 * Mark the questions that still want an answer, with a way to each; whether there are any.
 *
 * @param {import("./form.js").Fault[]} faults
 */
function sayFaults(faults) {
  markFaults(form, faults);
  if (!faults.length) return false;
  showProblem(
    element("p", {}, words.say("faults", { count: faults.length })),
    element("ul", {}, ...faults.map(({ field, question, words: wanted }) => {
      const input = firstInput(field);
      const to = element("a", { href: `#${input?.id}` }, surveyText("span", question));
      to.addEventListener("click", (event) => {
        // The address keeps its digest, and the history its steps.
        event.preventDefault();
        pages.to(field);
        input?.focus();
      });
      return element("li", {}, ...words.parts("fault", { question: to, wanted }));
    })),
  );
  return true;
}

/** Go to the next page of questions, if those of this one have what they want. @param {Published} published */
async function turnPage(published) {
  const { faults } = readForm(form, shown(published));
  if (!sayFaults(faults.filter(({ field }) => pages.has(field)))) pages.turn(1);
}

/**
 * Say that this device has answered, and that the answers on this page are not taken.
 *
 * @param {Published} published
 */
async function drop(published) {
  moment.own = false;
  moment.dropped = hasAnswers(form);
  form.reset();
  showAsked(form, shown(published));
  pages.show(0);
  if ((await showAnswered(published)) === "waiting") deliver(published);
}

/** @param {Published} published */
async function send(published) {
  const button = /** @type {HTMLButtonElement} */ (byId("send"));
  button.disabled = true;
  byId("keeping").textContent = words.say("keeping");
  askToKeep();
  try {
    const { answers } = readForm(form, shown(published));
    const kept = await client.randomize(inOwnWords(answers, shown(published), published));
    if (shared !== undefined) rememberPerson();
    if (kept.known) return await drop(published);
    moment.own = true;
    form.reset();
    showAsked(form, shown(published));
    pages.show(0);
    countAnswers(form);
    deliver(published);
  } finally {
    button.disabled = false;
    byId("keeping").textContent = "";
  }
}

/**
 * Where the browser may throw data away, ask it not to: it would forget what was spent. Some browsers ask the respondent, who
 * may never answer; nothing waits for that.
 */
function askToKeep() {
  try {
    navigator.storage.persist().catch(() => undefined);
  } catch {
    // A browser without such a promise keeps data as it does.
  }
}

/**
 * Show the step that the browser's own buttons lead to.
 *
 * @param {Published} published
 */
async function showStep(published) {
  if (moment.sending) showPart("receipt");
  else if (await showAnswered(published)) return;
  else if (stepOf() === "review") await review(published, true);
  else showPart("survey");
}

/**
 * Make a refused report wait again, with another token: the answers are not randomised a second time.
 *
 * @param {string} token
 * @param {Published} published
 */
const sendAgainWith = (token, published) =>
  storage.update((entries) => {
    const entry = entries.find(({ digest, state }) => digest === published.digest && state === "refused");
    return entry && { ...entry, token, state: "waiting" };
  });

/** Make the page ready; what is thrown on the way is said in the page, and no answers are asked for then. */
async function start() {
  try {
    checkBrowser();
    client = clientOf(storage);
    guardAnswers(form);
    offerLanguages(link);
    form.addEventListener("input", () => countAnswers(form));
    if (shared !== undefined) showPeople();
    await forgetTaken(storage);
    await ready(await checked());
  } catch (error) {
    // Answers to a survey that cannot be sent would be given in vain.
    byId("survey").hidden = true;
    throw error;
  }
}

/** @param {Published} published */
async function ready(published) {
  sayTreatment(form, shown(published));
  drawOrders(form, published);
  pages = pagesOf(form, shown(published));
  const follow = () => {
    showAsked(form, shown(published));
    pages.show();
    countAnswers(form);
  };
  form.addEventListener("input", follow);
  addEventListener("pageshow", follow);
  follow();
  tryAgain = () => void deliver(published);
  moment.takeBack = () =>
    void attempt(async () => {
      await client.withdraw();
      await showAnswered(published);
    });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => (pages.isLast() ? review(published) : turnPage(published)));
  });
  // When a field is left, not at each key: a mark that goes moves what stands below it.
  form.addEventListener("change", () => {
    if (unmarkAnswered(form, readForm(form, shown(published)).faults)) showProblem();
  });
  byId("back").addEventListener("click", () => {
    showProblem();
    pages.turn(-1);
  });
  byId("change").addEventListener("click", () => history.back());
  byId("send").addEventListener("click", () => attempt(() => send(published)));
  addEventListener("online", tryAgain);
  addEventListener("popstate", () => attempt(() => showStep(published)));
  addEventListener("pageshow", (event) => event.persisted && attempt(() => showStep(published)));
  started();
  /** @type {HTMLButtonElement} */ (byId("go-on")).disabled = false;
  step("survey");
  if (link.token) await sendAgainWith(link.token, published);
  if ((await showAnswered(published)) === "waiting") return void deliver(published);
  const entry = await entryOf(published);
  // Where the page is loaded again, the address has the invitation no more that was redeemed.
  if (!entry && published.submission !== "open" && !link.token && !link.invitation && !(await entriesOf(storage)).some((row) => row.token && row.digest.endsWith(published.digest))) showProblem(element("p", {}, words.say("error.token")));
  if (entry?.state !== "withdrawn" || !entry.withdrawable) return;
  // Its server has not answered yet.
  await client.flush();
  await showAnswered(published);
}

// Not awaited: what waits may wait long for a network.
attempt(start);
const loaded = /** @type {NodeListOf<HTMLLinkElement>} */ (document.querySelectorAll("link[data-kept]"));
const pictures = /** @type {NodeListOf<HTMLImageElement>} */ (document.querySelectorAll("img[data-kept]"));
keepForOffline({
  worker,
  scope,
  urls: [
    location.pathname + location.search,
    `${server}/api/v1/surveys/${survey}/versions/${version}`,
    ...[...loaded].map((sheet) => sheet.href),
    ...[...pictures].map((image) => image.src),
  ],
});
