/** One respondent of one survey: fetch and pin, preview, randomise once, send those bytes. */

import { secureBits } from "./bits.js";
import { apiOf } from "./endpoint.js";
import { BudgetExhausted, ManifestRefused } from "./errors.js";
import { checkBudget, checkSensitive } from "./ledger.js";
import { entriesOf, flush, send } from "./outbox.js";
import { Published } from "./published.js";
import { DIGEST, must, NAME } from "./rules.js";
import { indexedDbStorage } from "./storage.js";
import { exchange, PACING, retrying } from "./transport.js";
import { encodeReport } from "./wire.js";

/** @typedef {import("./storage.js").Entry} Entry */

/**
 * @typedef {object} Options
 * @property {string} [digest] Pinned digest, given out of band. Without it the first manifest fetched becomes the pin,
 *   which does not protect against a server that lies at once.
 * @property {number} [version] Version to fetch; without it the newest that is open.
 * @property {string} [token] The respondent's single-use token, for surveys that want one.
 * @property {typeof globalThis.fetch} [fetch]
 * @property {import("./storage.js").Storage} [storage] IndexedDB, if not given.
 * @property {import("./transport.js").Pacing} [pacing]
 */

/** A respondent's side of a survey. */
export class SurveyClient {
  #options;
  #api;
  #survey;
  #means;
  /** @type {Published | undefined} */
  #published;

  /**
   * @param {string} url Address of the server; https, or http for this machine alone.
   * @param {string} survey Name of the survey.
   * @param {Options & import("./ledger.js").Limits} [options]
   * @throws {InvalidParameter}
   */
  constructor(url, survey, options = {}) {
    must(NAME[0](survey), "survey", survey, NAME[1]);
    must(options.digest === undefined || DIGEST[0](options.digest), "digest", options.digest, DIGEST[1]);
    this.#options = options;
    this.#api = apiOf(url);
    this.#survey = survey;
    this.#means = {
      // Called through the global object: browsers refuse a fetch that is some other object's method.
      fetch: options.fetch ?? ((/** @type {Parameters<typeof fetch>} */ ...given) => globalThis.fetch(...given)),
      storage: options.storage ?? indexedDbStorage(),
      pacing: options.pacing ?? PACING,
    };
  }

  /**
   * The pinned survey; fetched and checked against pin, arithmetic and limits when first asked for.
   *
   * @returns {Promise<Published>}
   * @throws {TransportError} If it cannot be fetched.
   * @throws {ManifestRefused} If it contradicts itself, is not the pinned one, or collects a required attribute in clear.
   * @throws {BudgetExhausted} If it spends more than the limits allow.
   */
  async published() {
    return (this.#published ??= await this.#accept(
      await retrying(() => {
        const { version } = this.#options;
        const path = `${this.#api}/surveys/${this.#survey}${version === undefined ? "" : `/versions/${version}`}`;
        return exchange(this.#means.fetch, path);
      }, this.#means.pacing),
    ));
  }

  /** @param {string} text */
  async #accept(text) {
    const published = await Published.fromJson(text);
    const { digest } = this.#options;
    for (const [field, offered, wanted] of [
      ["name", published.name, this.#survey],
      ["digest", published.digest, digest ?? published.digest],
    ]) {
      if (offered !== wanted) {
        throw new ManifestRefused(`the survey's ${field} is ${offered}, not ${wanted} as pinned; nothing was sent`, {
          field,
        });
      }
    }
    checkSensitive(published, this.#options);
    checkBudget([], published, this.#options);
    return published;
  }

  /**
   * Randomise the answers and keep the report, before anything is sent. An answer is randomised once: for a survey
   * version that this device has answered, the report that it keeps is returned, whatever the answers.
   *
   * @param {import("./codec.js").Answers} answers
   * @returns {Promise<Entry>}
   * @throws {InvalidParameter} If the answers do not fit the survey, or a token is wanted.
   * @throws {BudgetExhausted} If the limits leave too little, or the answer was withdrawn.
   */
  async randomize(answers) {
    const published = await this.published();
    const { digest, name: survey, version, epsilon, layout, submission } = published;
    const { token } = this.#options;
    must(submission === "open" || token, "token", undefined, "given: this survey takes one per respondent");
    const codes = layout.codeAnswers(answers);
    return this.#means.storage.update((entries) => {
      const known = entries.find((entry) => entry.digest === digest);
      const api = this.#api;
      if (known) {
        if (known.state === "withdrawn") throw new BudgetExhausted("this answer was withdrawn; it is not given again");
        const done = known.state === "accepted" && known.api === api;
        return done ? known : { ...known, api, token, state: "waiting" };
      }
      if (entries.some((entry) => entry.survey === survey && entry.version === version && entry.api === api)) {
        throw new ManifestRefused(`${survey} version ${version} has changed since it was answered`, { field: "digest" });
      }
      checkBudget(entries, published, this.#options);
      const id = crypto.getRandomValues(new Uint8Array(16));
      const report = encodeReport({ digest, id, record: layout.encode(codes, secureBits) });
      return { digest, survey, version, epsilon, api, token, state: "waiting", report };
    });
  }

  /**
   * Randomise, keep and send.
   *
   * @param {import("./codec.js").Answers} answers
   * @throws {TransportError} If the server refuses the report for good; what else `randomize` throws.
   */
  async submit(answers) {
    return send(this.#means, await this.randomize(answers));
  }

  /** Send all that this device keeps and could not send, of any survey; resolves to how many still wait. */
  flush() {
    return flush(this.#means);
  }

  /** What this device has answered and spent, without the reports. */
  async ledger() {
    return (await entriesOf(this.#means.storage)).map(({ report, token, ...entry }) => entry);
  }

  /** Forget the answer to this survey, sent or not, but for what was spent: it is not randomised again. */
  async withdraw() {
    const { digest } = await this.published();
    await this.#means.storage.update((entries) => {
      const entry = entries.find((one) => one.digest === digest);
      return entry && { ...entry, state: "withdrawn", report: undefined, token: undefined };
    });
  }
}
