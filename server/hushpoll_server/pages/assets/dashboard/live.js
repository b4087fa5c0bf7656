/**
 * Brings figures of a page up to date while something on it goes on: it loads the same page again
 * and puts in what has changed. Without scripts, the reader loads the page.
 *
 * An element with `data-live` is one such figure; its value names it, and is found once on a page.
 * The page's `data-goes-on` says in how many seconds to look again; without it nothing goes on.
 *
 * It looks while the page is seen, and for an hour at most: a page that was left open must not ask
 * for ever.
 */

const content = document.querySelector("#content");
const end = Date.now() + 3600_000;

function seconds(root) {
  return Number(root.querySelector("[data-goes-on]")?.dataset.goesOn ?? 0);
}

function takeFrom(page) {
  for (const shown of content.querySelectorAll("[data-live]")) {
    const name = CSS.escape(shown.dataset.live);
    const now = page.querySelector(`[data-live="${name}"]`);
    if (now === null) {
      location.reload(); // a line that is not among those chosen any more
      return;
    }
    if (now.innerHTML !== shown.innerHTML) shown.replaceChildren(...now.childNodes);
  }
}

async function look() {
  if (Date.now() > end) return;
  if (document.hidden) {
    document.addEventListener("visibilitychange", look, { once: true });
    return;
  }
  let next = seconds(document);
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    // A page of sign-in, or a refusal, has no such figures: the reader loads the page.
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    takeFrom(page);
    next = seconds(page);
  } catch {
    next = Math.max(next, 10); // the server may come back
  }
  if (next > 0) setTimeout(look, next * 1000);
}

if (seconds(document) > 0) setTimeout(look, seconds(document) * 1000);
