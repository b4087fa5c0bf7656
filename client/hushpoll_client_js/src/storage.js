/** Where a device keeps what it has answered: IndexedDB, one row for each survey version, shared by all tabs. */

import { within } from "./deadline.js";
import { StorageError } from "./errors.js";

/**
 * What a device keeps of one answered survey version: once the server has taken the report, only what refuses a second
 * answer and shows that the first has arrived. Until then the report, in which clear answers are clear.
 *
 * @typedef {object} Entry
 * @property {string} digest Of the published survey; the key.
 * @property {string} survey
 * @property {number} version
 * @property {string} epsilon What answering was charged.
 * @property {string} api Where the report goes.
 * @property {"waiting" | "accepted" | "refused" | "withdrawn" | "agreed" | "invited"} state `agreed` is a consent and `invited` a redeemed
 *   invitation, whose digests are none.
 * @property {string | undefined} [id] The report's number, by which a server knows a repeat; until withdrawn.
 * @property {string | undefined} [report] The very bytes that are sent, at first and at every retry; until accepted.
 *   Of a redemption: the token's input, the blind, and the blinded element.
 * @property {number | undefined} [due] Of a survey that takes invitations: the moment before which the report is not sent.
 * @property {string | undefined} [secret] 32 bytes, of which SHA-256 begins with the id: a program that has them can take the report back. Until the
 *   server has said what became of that. Reports of earlier releases have none.
 * @property {"deleted" | "not-here" | "refused" | undefined} [taken] What the server said of a withdrawn report.
 * @property {string | undefined} [given] Date of a consent, in UTC, such as 2026-01-31.
 * @property {string | undefined} [statement] What the respondent was shown before they agreed.
 * @property {string | undefined} [manifest] Of a consent: the survey, in its canonical form, for when there is no network.
 * @property {string | undefined} [token] The respondent's single-use token, until the report is accepted.
 */

/**
 * What the SDK needs of a storage. `update` hands all entries to `change`, stores the entry that it returns, if any, under
 * its digest, and resolves to that entry once it is durable. No other tab reads or writes in between, so that an answer
 * is randomised once. If `change` throws, `update` rejects with the same error and stores nothing.
 *
 * @typedef {object} Storage
 * @property {<T extends Entry | false | undefined>(change: (entries: Entry[]) => T) => Promise<T>} update
 */

/** Milliseconds in which a browser must open its storage, and in which it must store. */
const PATIENCE = 10_000;

/**
 * Storage of this origin. A browser that does not open or store in time is told apart from one that did: nothing is stored then.
 *
 * @param {string} [name] Name of the database.
 * @returns {Storage}
 */
export const indexedDbStorage = (name = "hushpoll") => ({
  async update(change) {
    /** @type {any} */
    let kept;
    /** @type {unknown} */
    let refusal;
    try {
      const opening = indexedDB.open(name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("answers", { keyPath: "digest" });
      let late = false;
      /** @type {Promise<IDBDatabase>} */
      const opened = new Promise((resolve, reject) => {
        opening.onsuccess = () => (late ? opening.result.close() : resolve(opening.result));
        opening.onerror = reject;
      });
      const database = await within(opened, PATIENCE).catch((error) => {
        late = true;
        throw error;
      });
      const transaction = database.transaction("answers", "readwrite", { durability: "strict" });
      const answers = transaction.objectStore("answers");
      const reading = answers.getAll();
      // Takes effect once the transaction has ended.
      database.close();
      reading.onsuccess = () => {
        try {
          kept = change(reading.result);
          if (kept) answers.put(kept);
        } catch (error) {
          refusal = error;
          transaction.abort();
        }
      };
      /** @type {Promise<unknown>} */
      const ended = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = reject;
      });
      await within(ended, PATIENCE).catch((error) => {
        if (error instanceof Error) transaction.abort();
        throw error;
      });
      return kept;
    } catch {
      throw refusal ?? new StorageError("this browser keeps no data for this site");
    }
  },
});
