/** The service worker of the hosted pages: it asks the network first, and hands out its copy of the page where there is none. */

import { CACHE } from "./offline.js";

// The types of a worker's scope and of a page's exclude each other.
const scope = /** @type {any} */ (globalThis);

scope.addEventListener("install", () => scope.skipWaiting());
scope.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  if (request.method === "GET" && new URL(request.url).origin === location.origin) event.respondWith(answer(request));
});

/** @param {Request} request */
async function answer(request) {
  try {
    const answer = await fetch(request);
    // A closed survey must not hide behind an older page.
    if (answer.status < 500) return answer;
    return (await kept(request)) ?? answer;
  } catch (error) {
    const copy = await kept(request);
    if (copy) return copy;
    throw error;
  }
}

/** @param {Request} request */
const kept = async (request) => (await caches.open(CACHE)).match(request, { ignoreVary: true });
