/** `SurveyClient`, one respondent of one survey: fetches and pins the survey, randomises once, sends those bytes. */

import { secureBits } from "./bits.js";
import { agreement, checkConsent, consentOf } from "./consent.js";
import { b64encode, entriesOf, exchange, isAnswer, must, NAME, obey, retrying } from "./core.js";
import { within } from "./deadline.js";
import { apiOf } from "./endpoint.js";
import { BudgetExhausted, ManifestRefused } from "./errors.js";
import { checkBudget, checkRequired } from "./ledger.js";
import { flush, send, waiting } from "./outbox.js";
import { codeAnswers, encode } from "./codec.js";
import { readPublished } from "./published.js";
import { indexedDbStorage } from "./storage.js";
import { errorFrom, offersManifest } from "./problems.js";
import { PACING } from "./transport.js";
import { encodeReport } from "./wire.js";

/** @typedef {import("./storage.js").Entry} Entry */
/** @typedef {import("./published.js").Published} Published */

/**
 * @typedef {object} Options
 * @property {string} [digest] Pinned digest, given out of band. Without it the first manifest fetched becomes the pin,
 *   which does not protect against a server that lies at once.
 * @property {number} [version] Version to fetch; without it the newest that is open.
 * @property {string} [token] The respondent's single-use token, for surveys that want one.
 * @property {string} [invitation] The respondent's invitation, for surveys that take one. It is redeemed for a token, and never sent with a
 *   report.
 * @property {number} [parting] Seconds, 15 by default: the report of an invited survey is first sent after a random time up to it.
 * @property {boolean} [requireConsent] Whether answers are read only after `giveConsent`, which is the default. A page that asks
 *   for consent by its own means, and for each answer anew, says false.
 * @property {(reason: string) => void} [onLoss] Called with the reason of each report that will not arrive, since the server itself has
 *   refused it for good, also by `flush`: a code such as `survey-closed`.
 * @property {number} [wait] Seconds, in [0, 86400], that `published` and `submit` wait for the server, 5 by default. What is not sent
 *   by then is kept, and sent behind.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {import("./storage.js").Storage} [storage] IndexedDB, if not given.
 * @property {import("./transport.js").Pacing} [pacing]
 */

/** Whether a withdrawn report's server has not answered yet. @param {Entry} entry */
const asked = ({ state, secret }) => state === "withdrawn" && secret;

/** A respondent's side of a survey. */
export class SurveyClient {
  #given;
  /** @type {Published | undefined} */
  #published;
  /** Its canonical form. @type {string | undefined} */
  #manifest;
  /** @type {Map<string, number>} */
  #losses = new Map();

  /**
   * @param {string} url Address of the server; https, or http for this machine alone.
   * @param {string} survey Name of the survey.
   * @param {Options & import("./ledger.js").Limits} [options]
   * @throws {InvalidParameter}
   */
  constructor(url, survey, options = {}) {
    obey(survey, "survey", NAME);
    this.#given = {
      // Called through the global object: browsers refuse a fetch that is some other object's method.
      fetch: (/** @type {Parameters<typeof fetch>} */ ...request) => globalThis.fetch(...request),
      storage: indexedDbStorage(),
      pacing: PACING,
      requireConsent: true,
      wait: 5,
      parting: 15,
      ...options,
      lost: (/** @type {string} */ reason) => this.#lose(reason),
      survey,
      api: apiOf(url),
    };
    const { wait } = this.#given;
    must(wait >= 0 && wait <= 86_400, "wait", wait, "seconds, 0 to 86400");
  }

  /**
   * The pinned survey; fetched and checked against pin, arithmetic and limits when first asked for. Nothing of the respondent is read
   * or kept before they agree. With their consent the survey is kept as well: where the server cannot be reached, it is that one.
   *
   * @returns {Promise<Published>}
   * @throws {TransportError} If it cannot be fetched within `wait`; retryable, unless the server itself says that there is none.
   * @throws {ManifestRefused} If it contradicts itself, is not the pinned one, or collects a required attribute in clear.
   */
  async published() {
    if (this.#published) return this.#published;
    const { api, survey, version, digest, fetch, pacing, storage, wait } = this.#given;
    const path = `${api}/surveys/${survey}${version ? `/versions/${version}` : ""}`;
    const asking = async (/** @type {number} */ left) => {
      const answer = await exchange(fetch, path, {}, left);
      if (!offersManifest(answer)) throw errorFrom(answer);
      return answer.body;
    };
    const body = await retrying(asking, pacing, wait).catch(async (error) => {
      const kept = error.retryable && consentOf(await entriesOf(storage), api, survey)?.manifest;
      if (kept) return new TextEncoder().encode(kept);
      throw error;
    });
    const published = await readPublished(body);
    pinned("name", published.name, survey);
    pinned("version", published.version, version ?? published.version);
    pinned("digest", published.digest, digest ?? published.digest);
    checkRequired(published, this.#given);
    this.#manifest = new TextDecoder().decode(body);
    return (this.#published = published);
  }

  /**
   * Redeem the invitation of a survey that takes one; for others nothing is done. An app calls it when the respondent begins, long before
   * the report is sent; `randomize` does it otherwise. A device that has its token, or has answered, asks nothing.
   *
   * @throws {InvalidParameter} If no invitation is given, or the server's proof does not hold for the key in the manifest.
   * @throws {TransportError} If the server cannot be reached (retryable), or refuses the invitation.
   * @throws {ConsentMissing}
   */
  async redeem() {
    if (this.#given.requireConsent) await this.#checkConsent();
    const published = await this.published();
    return void (await published.invited?.redeem(this.#given, published));
  }

  /**
   * Randomise the answers and keep the report, before anything is sent. An answer is randomised once: for a survey
   * version that this device has answered, its stored entry is returned, with `known`. The answers given now are then
   * neither randomised nor sent. Say so to the respondent, who may be another person.
   *
   * @param {import("./codec.js").Answers} answers
   * @returns {Promise<Entry & {known: boolean}>}
   * @throws {InvalidParameter} If the answers do not fit the survey, or a token is wanted.
   * @throws {ConsentMissing} If the respondent has not agreed; the answers were not read then.
   * @throws {BudgetExhausted} If the limits leave too little, or the answer was withdrawn.
   */
  async randomize(answers) {
    const { requireConsent } = this.#given;
    if (requireConsent) await this.#checkConsent();
    const published = await this.published();
    const { digest, version, epsilon, submission, invited } = published;
    const { api, survey, storage, parting, pacing } = this.#given;
    const token = (await invited?.redeem(this.#given, published)) ?? this.#given.token;
    must(submission !== "token" || token, "token", "", "given: the survey wants one");
    const codes = codeAnswers(published, answers);
    // Its hash is the id, so that this device alone can take the report back.
    const secret = crypto.getRandomValues(new Uint8Array(32));
    const id = new Uint8Array(await crypto.subtle.digest("SHA-256", secret)).slice(0, 16);
    /** @type {Entry | undefined} */
    let known;
    const kept = await storage.update((rows) => {
      // Consent may have been withdrawn in another tab since.
      if (requireConsent) checkConsent(rows, api, survey);
      const entries = rows.filter(isAnswer);
      known = entries.find((entry) => entry.digest === digest);
      if (known?.state === "withdrawn") throw new BudgetExhausted("a withdrawn answer is not given again");
      if (known) return known.state === "accepted" ? known : { ...known, api, token: token ?? known.token, state: "waiting" };
      for (const entry of entries) {
        if (entry.survey === survey && entry.version === version && entry.api === api) pinned("digest", digest, entry.digest);
      }
      checkBudget(entries, published, this.#given);
      const report = encodeReport({ digest, id, record: encode(published, codes, secureBits) });
      const due = invited && Date.now() + 1000 * parting * pacing.random();
      return { digest, survey, version, epsilon, api, token, state: "waiting", id: b64encode(id), report, due, secret: b64encode(secret) };
    });
    await invited?.forget(this.#given, published);
    return { .../** @type {Entry} */ (kept), known: Boolean(known) };
  }

  /**
   * Randomise, keep and send. The receipt's `known` says whether these were not the answers that count; see `randomize`. What the server
   * has not taken within `wait` is `waiting`: sending goes on behind, and after that by `flush`.
   *
   * @param {import("./codec.js").Answers} answers
   * @throws {TransportError} If the server refuses the report for good; what else `randomize` throws.
   */
  async submit(answers) {
    const { wait } = this.#given;
    const over = Date.now() + 1000 * wait;
    const kept = await this.randomize(answers);
    const { digest, epsilon, known } = kept;
    /** @type {import("./outbox.js").Receipt} */
    const waiting = { status: "waiting", digest, epsilon, known };
    return within(this.send(kept), over - Date.now(), () => waiting);
  }

  /**
   * Send what `randomize` has kept; goes on for two minutes where the server cannot be reached.
   *
   * @param {Pick<Entry, "digest" | "epsilon">} kept
   * @throws {TransportError} If the server refuses the report for good.
   */
  send(kept) {
    return send(this.#given, kept);
  }

  /**
   * Send all that this device keeps and could not send, of any survey, and ask again to take back what was withdrawn; resolves to how
   * many reports still wait.
   */
  async flush() {
    const left = await flush(this.#given);
    // A page that is offline may not load the part; it is asked again later.
    if ((await entriesOf(this.#given.storage)).some(asked)) await import("./withdrawal.js").then((part) => part.takeBack(this.#given), () => 0);
    return left;
  }

  /** How many reports of this device, of any survey, wait to be sent; `flush` sends them. */
  pending() {
    return waiting(this.#given.storage);
  }

  /** How many reports this client has seen refused for good, by reason. @returns {Record<string, number>} */
  get losses() {
    return Object.fromEntries(this.#losses);
  }

  /** Whether the respondent agrees to this survey, as `giveConsent` has kept it. */
  async consented() {
    const { api, survey, storage } = this.#given;
    return Boolean(consentOf(await entriesOf(storage), api, survey));
  }

  /**
   * Keep that the respondent agrees to this survey, and the survey, if it was fetched; to be called only once they do. `withdraw` ends it.
   *
   * @param {string} [statement] The text that they were shown; the device keeps it, with the date.
   * @throws {StorageError} If it cannot be kept.
   */
  async giveConsent(statement) {
    const { api, survey, storage } = this.#given;
    await storage.update((entries) => agreement(entries, api, survey, this.#manifest, statement));
  }

  /**
   * What this device has answered and spent, without the reports. `withdrawable`: whether it can ask to take the report back.
   *
   * @returns {Promise<(Omit<Entry, "report" | "token" | "secret"> & {withdrawable: boolean})[]>}
   */
  async ledger() {
    return (await entriesOf(this.#given.storage))
      .filter(isAnswer)
      .map(({ report, token, due, secret, ...entry }) => ({ ...entry, withdrawable: Boolean(secret) }));
  }

  /**
   * End the consent, and forget the answers to all versions of this survey, sent or not, but for what was spent. Then ask the server, for at
   * most `wait` seconds, to delete the reports that it has not sealed. What is unanswered by then is asked by a later `withdraw` or `flush`.
   *
   * @returns {Promise<import("./withdrawal.js").Withdrawal>} How many reports.
   * @throws {StorageError} If they cannot be forgotten; the server was not asked then.
   * @throws {TypeError} If a page that is offline cannot load what asks the server. They are forgotten then, and it is asked later.
   */
  async withdraw() {
    const { survey, storage } = this.#given;
    const before = await entriesOf(storage);
    for (const { digest } of before) {
      await storage.update((entries) => {
        const entry = entries.find((entry) => entry.digest === digest && entry.survey === survey);
        return entry && { ...entry, state: "withdrawn", id: undefined, report: undefined, token: undefined, statement: undefined, manifest: undefined };
      });
    }
    const { withdrawal } = await import("./withdrawal.js");
    return withdrawal(this.#given, before);
  }

  async #checkConsent() {
    const { api, survey, storage } = this.#given;
    checkConsent(await entriesOf(storage), api, survey);
  }

  /** @param {string} reason */
  #lose(reason) {
    this.#losses.set(reason, (this.#losses.get(reason) ?? 0) + 1);
    try {
      this.#given.onLoss?.(reason);
    } catch (error) {
      // The app's own code; its message may hold anything.
      console.warn(`hushpoll: onLoss raised ${error instanceof Error ? error.name : typeof error}`);
    }
  }
}

/**
 * @param {string} field
 * @param {string | number} offered
 * @param {string | number} wanted
 * @throws {ManifestRefused}
 */
function pinned(field, offered, wanted) {
  if (offered !== wanted) {
    throw new ManifestRefused(`the survey's ${field} is ${offered}, not ${wanted} as pinned; nothing was sent`, { field });
  }
}
