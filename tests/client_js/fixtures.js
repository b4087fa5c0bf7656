/** A survey, a server that can misbehave, and a clock that does not wait. */

import { readFileSync } from "node:fs";

import { canonicalJson } from "../../client/hushpoll_client_js/src/canonical.js";
import { SurveyClient } from "../../client/hushpoll_client_js/src/index.js";
import { memoryStorage } from "../../client/hushpoll_client_js/src/memory_storage.js";

const { manifests } = JSON.parse(readFileSync(new URL("../vectors/manifests.json", import.meta.url), "utf8"));

/** An open survey with four questions, and one that takes a token. */
export const SMALL = manifests[0].published;
export const SMALL_DIGEST = manifests[0].digest;
export const WHOLE = manifests[1].published;

export const ANSWERS = { colour: "green", age: 19, town: "Oslo", happy: "yes" };

export const ORIGIN = "https://polls.example.org";

/** A server: it keeps what it acknowledged, and what it is asked. */
export class FakeServer {
  constructor(manifest = SMALL) {
    this.manifest = manifest;
    this.requests = [];
    this.reports = new Map();
    /** What to do with the next posts instead of taking them: a function of the request. */
    this.script = [];
    this.fetch = async (url, init = {}) => {
      this.requests.push({ url, ...init });
      if (init.method !== "POST") return json(canonicalJson(this.manifest));
      return (this.script.shift() ?? ((request) => this.take(request)))(init);
    };
  }

  get posts() {
    return this.requests.filter(({ method }) => method === "POST");
  }

  take({ body }) {
    const { id, record } = JSON.parse(body);
    const known = this.reports.get(id);
    if (known !== undefined && known !== record) return problem(409, "report-conflict");
    this.reports.set(id, record);
    return known === undefined ? json('{"status": "accepted"}', 201) : json('{"status": "duplicate"}');
  }
}

export const json = (body, status = 200) => new Response(body, { status, headers: { "Content-Type": "application/json" } });

/** What a network puts in the server's place. */
export const login = (status = 200) => () =>
  new Response([204, 205, 304].includes(status) ? null : "<html>Welcome to the train</html>", { status, headers: { "Content-Type": "text/html" } });

export function problem(status, code, headers = {}) {
  const body = { type: `urn:hushpoll:problem:${code}`, title: code, detail: "in words", status };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });
}

export const unreachable = () => {
  throw new TypeError("fetch failed");
};

/** A respondent with a storage of their own, unless told otherwise; `waits` are the seconds slept. */
export function respondent(server, options = {}) {
  const waits = [];
  const storage = options.storage ?? memoryStorage();
  const client = new SurveyClient(ORIGIN, server.manifest.name, {
    fetch: server.fetch,
    storage,
    requireConsent: false, // asked for in consent.test.js
    wait: 120, // waits are not slept here
    pacing: { sleep: async (seconds) => void waits.push(seconds), random: () => 0.5 },
    ...options,
  });
  return { client, storage, waits };
}

export async function entries(storage) {
  let all;
  await storage.update((entries) => void (all = entries));
  return all;
}
