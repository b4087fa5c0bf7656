/** Earlier releases kept reports for good; what the server has taken is not kept any more. */

/**
 * Delete the reports that were taken, but for their numbers.
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
