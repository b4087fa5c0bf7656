/** Keeps a copy of the page in the browser, which a service worker hands out where there is no network. */

import { within } from "../deadline.js";

/** @typedef {{worker: string, scope: string, urls: string[]}} Kept Addresses of the page and of all that it loads. */

export const CACHE = "hushpoll-page";

/** Milliseconds for each step; the page is used meanwhile. */
const PATIENCE = 60_000;

/**
 * Keep the page for when there is no network. If any of this fails, the page itself still works.
 * Once everything is kept and the service worker is in charge, the document carries `data-offline="ready"`.
 *
 * @param {Kept} kept
 */
export async function keepForOffline({ worker, scope, urls }) {
  try {
    if (!navigator.serviceWorker) return;
    await within(navigator.serviceWorker.register(trusted(worker), { scope, type: "module" }), PATIENCE);
    const cache = await within(caches.open(CACHE), PATIENCE);
    await within(cache.addAll([...new Set(urls.map((url) => new URL(url, location.href).href))]), PATIENCE);
    await forgetScripts(cache);
    await within(navigator.serviceWorker.ready, PATIENCE);
    document.documentElement.dataset.offline = "ready";
  } catch {
    // A private window, a full disk, a browser that does not answer.
  }
}

/**
 * Delete the scripts of other releases that no kept page loads any more. A page of another survey keeps those of its own
 * release until it is visited again.
 *
 * @param {Cache} cache
 */
async function forgetScripts(cache) {
  const release = /\/page\/[0-9a-f]+\//;
  const kept = await cache.keys();
  /** @type {Set<string>} */
  const loaded = new Set();
  for (const request of kept) {
    if (release.test(request.url)) continue;
    const page = await (await cache.match(request, { ignoreVary: true }))?.text();
    for (const [named] of page?.matchAll(new RegExp(release, "g")) ?? []) loaded.add(named);
  }
  for (const request of kept) {
    const [named] = release.exec(request.url) ?? [];
    if (named && !loaded.has(named)) await cache.delete(request, { ignoreVary: true });
  }
}

/**
 * The page's content security policy lets only addresses of scripts pass that this function has returned.
 *
 * @param {string} worker
 */
function trusted(worker) {
  const { trustedTypes } = /** @type {any} */ (globalThis);
  const policy = trustedTypes?.createPolicy("hushpoll", { createScriptURL: (/** @type {string} */ url) => url });
  return policy ? policy.createScriptURL(worker) : worker;
}
