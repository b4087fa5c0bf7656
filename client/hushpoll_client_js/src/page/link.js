/** Reads the fragment of a link to a hosted survey, which browsers never send to the server. */

/**
 * @typedef {object} Link
 * @property {string} [digest] Digest of the survey that the author of the link meant.
 * @property {string} [token] The respondent's single-use token.
 * @property {string} [invitation] The respondent's invitation.
 */

/**
 * Read `#sha256=DIGEST&token=TOKEN`, or `invitation=CODE` in place of the token, and take both out of the address bar and of the history.
 *
 * @param {Location} location
 * @param {History} history
 * @returns {Link}
 */
export function readLink(location, history) {
  const fields = new URLSearchParams(location.hash.slice(1));
  const digest = fields.get("sha256")?.toLowerCase();
  const secrets = Object.fromEntries([...fields].filter(([name, value]) => value && /^(token|invitation)$/.test(name)));
  for (const name of Object.keys(secrets)) {
    fields.delete(name);
    const rest = fields.toString();
    history.replaceState(null, "", location.pathname + location.search + (rest && `#${rest}`));
  }
  return { ...(digest && { digest }), ...secrets };
}
