/** A storage that forgets with its process: for tests, and for servers that act for no respondent. */

/** @typedef {import("./storage.js").Entry} Entry */

/** @returns {import("./storage.js").Storage} */
export function memoryStorage() {
  /** @type {Map<string, Entry>} */
  const entries = new Map();
  return {
    async update(change) {
      const kept = change(structuredClone([...entries.values()]));
      if (kept) entries.set(kept.digest, structuredClone(/** @type {Entry} */ (kept)));
      return kept;
    },
  };
}
