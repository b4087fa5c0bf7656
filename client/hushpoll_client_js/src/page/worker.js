/** The service worker of the hosted pages: it asks the network first, and hands out its copy of the page where there is none. */

import { within } from "../deadline.js";
import { CACHE } from "./offline.js";

/** Milliseconds for the network, before a copy is handed out. */
const PATIENCE = 15_000;

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
  const asked = fetch(request);
  try {
    const answer = await within(asked, PATIENCE);
    // A closed survey must not hide behind an older page.
    if (answer.status < 500) return answer;
    return (await kept(request)) ?? answer;
  } catch {
    // A network that never answers is as good as none, where there is a copy.
    return (await kept(request).catch(() => undefined)) ?? asked;
  }
}

/** @param {Request} request */
const kept = async (request) => (await within(caches.open(CACHE), PATIENCE)).match(request, { ignoreVary: true });
