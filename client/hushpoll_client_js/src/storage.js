/** Where a device keeps what it has answered: IndexedDB, one row for each survey version, shared by all tabs. */

import { StorageError } from "./errors.js";

/**
 * What a device keeps of one answered survey version. It holds the perturbed report, never an answer.
 *
 * @typedef {object} Entry
 * @property {string} digest Of the published survey; the key.
 * @property {string} survey
 * @property {number} version
 * @property {string} epsilon What answering was charged.
 * @property {string} api Where the report goes.
 * @property {"waiting" | "accepted" | "refused" | "withdrawn"} state
 * @property {string | undefined} [report] The very bytes that are sent, at first and at every retry.
 * @property {string | undefined} [token] The respondent's single-use token, until the report is accepted.
 */

/**
 * What the SDK needs of a storage. `update` hands all entries to `change`, keeps the one that it returns, if any, under
 * its digest, and resolves to it once it is durable. Nobody else reads or writes in between: this is what makes an
 * answer be randomised once. What `change` throws, `update` rejects with, and nothing is kept.
 *
 * @typedef {object} Storage
 * @property {<T extends Entry | false | undefined>(change: (entries: Entry[]) => T) => Promise<T>} update
 */

/**
 * Storage of this origin.
 *
 * @param {string} [name] Name of the database.
 * @returns {Storage}
 */
export const indexedDbStorage = (name = "hushpoll") => ({
  update: (change) =>
    new Promise((resolve, reject) => {
      const opened = indexedDB.open(name, 1);
      const fail = () => reject(new StorageError("this browser keeps no data for this site; nothing was sent"));
      opened.onerror = fail;
      opened.onupgradeneeded = () => opened.result.createObjectStore("answers", { keyPath: "digest" });
      opened.onsuccess = () => {
        const database = opened.result;
        const transaction = database.transaction("answers", "readwrite", { durability: "strict" });
        const answers = transaction.objectStore("answers");
        const read = answers.getAll();
        /** @type {any} */
        let kept;
        read.onsuccess = () => {
          try {
            kept = change(read.result);
            if (kept) answers.put(kept);
          } catch (error) {
            reject(error);
            transaction.abort();
          }
        };
        transaction.oncomplete = () => {
          database.close();
          resolve(kept);
        };
        transaction.onabort = () => {
          database.close();
          fail();
        };
      };
    }),
});
