/** Keeps a copy of the page in the browser, which a service worker hands out where there is no network. */

/** @typedef {{worker: string, scope: string, urls: string[]}} Kept Addresses of the page and of all that it loads. */

export const CACHE = "hushpoll-page";

/**
 * Keep the page for when there is no network. If any of this fails, the page itself still works.
 * Once everything is kept and the service worker is in charge, the document carries `data-offline="ready"`.
 *
 * @param {Kept} kept
 */
export async function keepForOffline({ worker, scope, urls }) {
  if (!navigator.serviceWorker) return;
  try {
    await navigator.serviceWorker.register(trusted(worker), { scope, type: "module" });
    const cache = await caches.open(CACHE);
    const here = new Set(urls.map((url) => new URL(url, location.href).href));
    // Scripts of an older release; pages and manifests of other surveys stay.
    for (const { url } of await cache.keys()) {
      if (/\/page\/[0-9a-f]+\//.test(url) && !here.has(url)) await cache.delete(url);
    }
    await cache.addAll([...here]);
    await navigator.serviceWorker.ready;
    document.documentElement.dataset.offline = "ready";
  } catch {
    // A private window, a full disk.
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
