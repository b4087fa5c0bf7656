/** The links to the survey in other languages: each is called by its own name, and keeps what follows the `#`. */

/**
 * @param {import("./link.js").Link} link What the address said before its token was taken out of it.
 */
export function offerLanguages({ digest, ...rest }) {
  const fragment = new URLSearchParams({ ...(digest && { sha256: digest }), ...rest }).toString();
  for (const to of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("#languages a"))) {
    try {
      to.textContent = new Intl.DisplayNames([to.lang], { type: "language" }).of(to.lang) ?? to.lang;
    } catch {
      // A browser without names of languages shows the tag, as the server wrote it.
    }
    to.addEventListener("click", () => {
      to.hash = fragment;
    });
  }
}
