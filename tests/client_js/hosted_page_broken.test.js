/** The hosted page in browsers that lack a part, or never answer: each time a way on or a sentence, never a grey button alone. */

import assert from "node:assert/strict";
import { test } from "node:test";

import * as english from "../../client/hushpoll_client_js/src/words/en.js";
import * as german from "../../client/hushpoll_client_js/src/words/de.js";
import { serve, unfold } from "./browser.js";
import { browser, server } from "./site.js";

const PHONE = { width: 360, height: 740 };
const DRAFT = {
  version: 1,
  title: "Work",
  language: "en",
  epsilon: "4",
  minimum_batch: 1,
  release: "immediate",
  attributes: [{ name: "smoker", role: "sensitive", protocol: "GRR", categories: ["no", "yes"], question: "Do you smoke?" }],
  translations: { de: { title: "Arbeit", attributes: { smoker: { question: "Rauchen Sie?", categories: ["nein", "ja"] } } } },
};

/** The page of a published survey, in a browser of its own in which `broken` has run before each page. */
async function open(name, { broken, query = "", route, ...options } = {}) {
  const context = await browser.newContext({ viewport: PHONE, serviceWorkers: "block", ...options });
  const page = await context.newPage();
  if (broken) await page.addInitScript(broken);
  if (route) await route(page);
  await page.goto(`${server.origin}/s/${name}${query}`, { waitUntil: "commit" });
  return page;
}

const publish = (name, draft = {}) => server.publish({ ...DRAFT, ...draft, name });

/** Answer up to the receipt. */
async function answer(page) {
  await page.locator("#go-on:enabled").waitFor();
  assert.equal(await page.locator("#stalled").count(), 0);
  await page.getByLabel("yes", { exact: true }).check();
  await page.locator("#go-on").click();
  await page.locator("#send").click();
  await page.getByRole("heading", { name: english.SCRIPT["receipt.thanks"] }).waitFor();
}

/** What keeps nobody from answering. */
const HARMLESS = {
  "a storage prompt that nobody answers": () => {
    navigator.storage.persist = () => new Promise(() => {});
  },
  "a storage prompt that is refused": () => {
    navigator.storage.persist = () => Promise.reject(new TypeError("no"));
  },
  "a storage prompt that throws": () => {
    navigator.storage.persist = () => {
      throw new TypeError("no");
    };
  },
  "no storage manager": () => Object.defineProperty(Navigator.prototype, "storage", { value: undefined }),
  "an estimate of storage that never comes": () => {
    navigator.storage.estimate = () => new Promise(() => {});
  },
  "locks that are never given": () => {
    navigator.locks.request = () => new Promise(() => {});
  },
  "no locks": () => Object.defineProperty(Navigator.prototype, "locks", { value: undefined }),
  "no Intl at all": () => {
    delete globalThis.Intl;
  },
  "no plural rules": () => {
    delete Intl.PluralRules;
  },
  "no names of languages": () => {
    delete Intl.DisplayNames;
  },
  "number formats that are refused": () => {
    Intl.NumberFormat = function () {
      throw new RangeError("no");
    };
  },
  "no URL.canParse": () => {
    delete URL.canParse;
  },
  "no service workers": () => {
    delete Navigator.prototype.serviceWorker;
  },
  "service workers that are refused by a throw": () =>
    Object.defineProperty(Navigator.prototype, "serviceWorker", {
      get() {
        throw new DOMException("no", "SecurityError");
      },
    }),
  "a service worker that never registers": () => {
    navigator.serviceWorker.register = () => new Promise(() => {});
  },
  "a cache that never opens": () => {
    caches.open = () => new Promise(() => {});
  },
  "no trusted types": () => {
    delete globalThis.trustedTypes;
  },
};
/** A script in which reading a global name throws, as where cookies are blocked. */
const refusing = (...names) => ({
  content: names.map((name) => `Object.defineProperty(globalThis, "${name}", { get() { throw new DOMException("no", "SecurityError"); } });`).join("\n"),
});

test("what a browser lacks or never answers keeps nobody from answering where the page can do without", async () => {
  await publish("harmless");
  let answered = 0;
  for (const [what, broken] of Object.entries(HARMLESS)) {
    const page = await open("harmless", { broken });
    await answer(page).catch((error) => {
      throw new Error(`${what}: ${error.message}`);
    });
    assert.equal(await server.count("harmless"), ++answered, what);
    await page.context().close();
  }
});

test("cookies that are blocked are told to people who share a device, and one person answers", async () => {
  await publish("shared", { shared_device: true });
  const page = await open("shared", { broken: refusing("sessionStorage", "localStorage") });
  await page.getByText(english.SCRIPT["people.alone"]).waitFor();
  assert.equal(await page.locator("#people button").count(), 0);
  await answer(page);
});

/** What the page cannot do without: the key of the sentence that it then says. */
const NEEDED = {
  "no IndexedDB": ["error.browser", () => Object.defineProperty(globalThis, "indexedDB", { value: undefined })],
  "an IndexedDB that is refused by a throw": ["error.browser", refusing("indexedDB")],
  "a database that throws": [
    "error.storage",
    () => {
      IDBFactory.prototype.open = () => {
        throw new DOMException("no", "SecurityError");
      };
    },
  ],
  "a database that cannot be opened": [
    "error.storage",
    () => {
      IDBFactory.prototype.open = () => {
        const request = new EventTarget();
        setTimeout(() => request.onerror(new Event("error")));
        return request;
      };
    },
  ],
  "a database that never opens": [
    "error.storage",
    () => {
      IDBFactory.prototype.open = () => new EventTarget();
    },
  ],
  "a page without encryption": ["error.insecure", () => Object.defineProperty(globalThis, "isSecureContext", { value: false })],
  "no subtle crypto": ["error.browser", () => Object.defineProperty(Crypto.prototype, "subtle", { value: undefined })],
  "no time limits": [
    "error.browser",
    () => {
      delete AbortSignal.timeout;
    },
  ],
};

test("what the page cannot do without is told in its language, and no answers are asked for", async () => {
  await publish("needed");
  const told = Object.entries(NEEDED).map(async ([what, [key, broken]], place) => {
    const [language, { SCRIPT }] = place % 2 ? ["de", german] : ["en", english];
    const page = await open("needed", { broken, query: `?lang=${language}` });
    await page.getByRole("alert").getByText(SCRIPT[key]).waitFor().catch((error) => {
      throw new Error(`${what}: ${error.message}`);
    });
    assert.equal(await page.locator("#survey").isVisible(), false, what);
    assert.equal(await page.locator("#stalled").count(), 0, what);
    await page.context().close();
  });
  await Promise.all(told);
});

test("a database that stops answering while answers are kept is told, and they can be sent once it answers", async () => {
  await publish("stops");
  const page = await open("stops");
  await page.locator("#go-on:enabled").waitFor();
  await page.getByLabel("yes", { exact: true }).check();
  await page.locator("#go-on").click();
  await page.locator("#review").waitFor();
  await unfold(page);
  await page.evaluate(() => {
    globalThis.opens = IDBFactory.prototype.open;
    IDBFactory.prototype.open = () => new EventTarget();
  });
  await page.locator("#send").click();
  await page.locator("#keeping").getByText(english.SCRIPT.keeping).waitFor();
  await page.getByRole("alert").getByText(english.SCRIPT["error.storage"]).waitFor();
  assert.equal(await page.locator("#keeping").textContent(), "");
  await page.evaluate(() => {
    IDBFactory.prototype.open = globalThis.opens;
  });
  await page.locator("#send").click();
  await page.getByRole("heading", { name: english.SCRIPT["receipt.thanks"] }).waitFor();
});

/** What keeps the script from starting. */
const STALLED = {
  "a script that is not there": (page) => page.route(/main\.js$/, (route) => route.fulfill({ status: 404, body: "" })),
  "a script that is blocked": (page) => page.route(/main\.js$/, (route) => route.abort("blockedbyclient")),
  "a script that never comes": (page) => page.route(/main\.js$/, () => undefined),
  "a script that is cut off": (page) => page.route(/main\.js$/, (route) => route.fulfill({ contentType: "text/javascript", body: "import {" })),
  "a script that throws": (page) => page.route(/main\.js$/, (route) => route.fulfill({ contentType: "text/javascript", body: "throw Error()" })),
  "a manifest that never comes": (page) => page.route(/\/api\/v1\//, () => undefined),
};

test("a page whose script does not start says so by itself, in its language", async () => {
  await publish("stalled");
  const pages = Object.entries(STALLED).map(async ([what, route], place) => {
    const [language, { PAGE }] = place % 2 ? ["de", german] : ["en", english];
    const page = await open("stalled", { route, query: `?lang=${language}` });
    const sentence = page.getByText(PAGE.stalled);
    await sentence.waitFor();
    assert.equal(await page.locator("#go-on").isEnabled(), false, what);
    assert.ok(await sentence.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight), what);
    await page.context().close();
  });
  await Promise.all(pages);
});

test("the page of modules, without a bundle, is answered, and says so where one of them does not come", async () => {
  const modules = await serve(["--modules"]);
  try {
    await modules.publish({ ...DRAFT, name: "modules" });
    const page = await browser.newPage();
    await page.goto(`${modules.origin}/s/modules`);
    await answer(page);
    const other = await (await browser.newContext({ serviceWorkers: "block" })).newPage();
    await other.route(/canonical\.js$/, (route) => route.abort());
    await other.goto(`${modules.origin}/s/modules`);
    await other.getByText(english.PAGE.stalled).waitFor();
  } finally {
    await modules.stop();
  }
});

test("an answer that ends in white space, as older surveys have it, is answered", async () => {
  // A draft with such an answer is refused now; the server of an earlier release has published it.
  const name = "blank-ends";
  await publish(name, { language: undefined, translations: undefined });
  const given = await (await fetch(`${server.origin}/api/v1/surveys/${name}`)).json();
  given.attributes[0].categories = ["no\u00a0", "yes\u3000"];
  const { canonicalJson } = await import("../../client/hushpoll_client_js/src/canonical.js");
  const page = await (await browser.newContext({ serviceWorkers: "block" })).newPage();
  await page.route(/\/api\/v1\/surveys\/[^/]+\/versions/, (route) => route.fulfill({ contentType: "application/json", body: canonicalJson(given) }));
  await page.route(`${server.origin}/s/${name}`, async (route) => {
    const answer = await route.fetch();
    const { readPublished } = await import("../../client/hushpoll_client_js/src/published.js");
    const { digest } = await readPublished(given);
    const body = (await answer.text())
      .replace(">no<", ">no\u00a0<")
      .replace(">yes<", ">yes\u3000<")
      .replace(/data-digest="[0-9a-f]+"/, `data-digest="${digest}"`);
    await route.fulfill({ response: answer, body });
  });
  await page.goto(`${server.origin}/s/${name}`);
  await page.locator("#go-on:enabled").waitFor();
  await page.locator("#q0-1").check();
  await page.locator("#go-on").click();
  await page.locator("#review").waitFor();
  await unfold(page);
  assert.equal(await page.locator("#review-together dd span").first().textContent(), "yes\u3000");
});

const ARABIC = {
  language: "ar",
  title: "استبيان الصحة (2026)",
  attributes: [{ name: "smoker", role: "sensitive", protocol: "GRR", categories: ["نعم", "أحيانا (1-5)"], question: "هل تدخن (نعم أو لا)؟" }],
  translations: { he: { title: "סקר", attributes: { smoker: { question: "האם אתה מעשן?", categories: ["כן", "לא"] } } }, en: { title: "Survey", attributes: { smoker: { question: "Do you smoke?", categories: ["yes", "no"] } } } },
};

test("a survey that is written from right to left turns the page, from the form to the receipt", async () => {
  await publish("turned", ARABIC);
  const page = await open("turned", { locale: "ar-EG" });
  await page.locator("#go-on:enabled").waitFor();
  assert.equal(await page.locator("html").getAttribute("dir"), "rtl");
  const box = (selector) => page.locator(selector).first().boundingBox();
  const [input, label] = [await box("#q0-0"), await box("label[for=q0-0]")];
  assert.ok(input.x > label.x + label.width / 2, "the button stands at the right of its answer");
  // The page's own sentences are English, and their last stop stands at their end.
  assert.equal(await page.locator("#q0-need").evaluate((part) => getComputedStyle(part).unicodeBidi), "plaintext");
  assert.equal(await page.locator("legend").first().evaluate((part) => getComputedStyle(part).direction), "rtl");
  await page.locator("#q0-1").check();
  await page.locator("#go-on").click();
  await page.locator("#review").waitFor();
  await unfold(page);
  assert.equal(await page.locator("#review-together dt").first().getAttribute("dir"), "rtl");
  await page.locator("#send").click();
  await page.getByRole("heading", { name: english.SCRIPT["receipt.thanks"] }).waitFor();
  assert.equal(await page.locator("#receipt [lang=ar]").first().getAttribute("dir"), "rtl");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  await page.goto(`${server.origin}/s/turned?lang=he`);
  assert.equal(await page.locator("html").getAttribute("dir"), "rtl");
  await page.goto(`${server.origin}/s/turned?lang=en`);
  assert.equal(await page.locator("html").getAttribute("dir"), null);
});

test("an offline copy keeps its scripts when another survey of a newer release is visited", async () => {
  for (const name of ["older-copy", "newer-copy"]) await publish(name);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.origin}/s/older-copy`);
  await page.locator("html[data-offline=ready]").waitFor();
  // What an earlier release kept: its page with its own scripts, of another hash.
  await page.evaluate(async () => {
    const cache = await caches.open("hushpoll-page");
    for (const request of await cache.keys()) {
      const answer = await cache.match(request, { ignoreVary: true });
      const { headers } = answer;
      const old = (text) => text.replaceAll(/\/page\/[0-9a-f]+\//g, "/page/00000000000000aa/");
      if (request.url.includes("/api/")) continue;
      await cache.delete(request, { ignoreVary: true });
      await cache.put(old(request.url), new Response(old(await answer.text()), { headers }));
    }
    // And scripts that no page loads any more.
    await cache.put("/page/00000000000000bb/page/main.js", new Response(""));
  });
  await page.goto(`${server.origin}/s/newer-copy`);
  await page.locator("html[data-offline=ready]").waitFor();
  const kept = await page.evaluate(async () => (await (await caches.open("hushpoll-page")).keys()).map(({ url }) => new URL(url).pathname));
  assert.ok(kept.some((path) => path === "/page/00000000000000aa/page/main.js"), kept.join(" "));
  assert.ok(!kept.some((path) => path.startsWith("/page/00000000000000bb/")), kept.join(" "));
  await context.setOffline(true);
  await page.goto(`${server.origin}/s/older-copy`);
  await toReview(page);
  await context.close();
});

async function toReview(page) {
  await page.locator("#go-on:enabled").waitFor();
  await page.getByLabel("yes", { exact: true }).check();
  await page.locator("#go-on").click();
  await page.locator("#review").waitFor();
  await unfold(page);
}
