/** Reads the fragment of a link to a hosted survey, which browsers never send to the server. */

/**
 * @typedef {object} Link
 * @property {string} [digest] Digest of the survey that the author of the link meant.
 * @property {string} [token] The respondent's single-use token.
 */

/**
 * Read `#sha256=DIGEST&token=TOKEN`, and take the token out of the address bar and of the history.
 *
 * @param {Location} location
 * @param {History} history
 * @returns {Link}
 */
export function readLink(location, history) {
  const fields = new URLSearchParams(location.hash.slice(1));
  const digest = fields.get("sha256")?.toLowerCase();
  const token = fields.get("token");
  if (token) {
    fields.delete("token");
    const rest = fields.toString();
    history.replaceState(null, "", location.pathname + location.search + (rest && `#${rest}`));
  }
  return { ...(digest && { digest }), ...(token && { token }) };
}
