/** Deletes reports that earlier releases kept although the server had acknowledged them. */

/**
 * Delete the acknowledged reports, but keep their ids.
 *
 * @param {import("../storage.js").Storage} storage
 */
export async function forgetTaken(storage) {
  let left = true;
  while (left) {
    left = Boolean(
      await storage.update((entries) => {
        const entry = entries.find(({ state, report }) => state === "accepted" && report);
        return entry && { ...entry, id: JSON.parse(entry.report ?? "").id, report: undefined };
      }),
    );
  }
}
