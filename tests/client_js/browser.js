/** Headless Chromium, and the real server on loopback beside it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// Development tools live with the package, not with its tests.
const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));

/** Milliseconds that end a hang; no test depends on how fast a page is. */
const LONGEST = 300_000;

export async function launch() {
  const { chromium } = require("playwright-core");
  const browser = await chromium.launch({
    timeout: LONGEST,
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  for (const open of ["newContext", "newPage"]) {
    const opened = browser[open].bind(browser);
    browser[open] = async (options) => {
      const room = await opened(options);
      room.setDefaultTimeout(LONGEST);
      return room;
    };
  }
  return browser;
}

/** Open all that is folded in the step before sending. */
export const unfold = (page) => page.locator("#review").evaluate((review) => review.querySelectorAll("details").forEach((one) => (one.open = true)));

/** The collection server: `origin`, what its analyst asks of it, and `stop`. `--modules` serves no bundle. */
export async function serve(options = []) {
  const python = process.env.HUSHPOLL_PYTHON ?? "python";
  const child = spawn(python, [new URL("serve.py", import.meta.url).pathname, ...options], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`${python} could not serve`))),
  ]);
  const { origin, token } = JSON.parse(line);
  const ask = async (path, body) => {
    const answer = await fetch(`${origin}/api/v1/${path}`, {
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    const document = await answer.json();
    if (!answer.ok) throw new Error(JSON.stringify(document));
    return document;
  };
  return {
    origin,
    publish: (draft) => ask("surveys?allow_weak=true", draft),
    ask,
    count: async (name) => {
      const { surveys } = await ask("surveys");
      return surveys.filter(({ survey }) => survey === name).reduce((sum, { reports }) => sum + reports, 0);
    },
    stop: async () => {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
