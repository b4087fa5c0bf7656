/** Afterwards: what became of the answers, for the respondent to keep. */

import { byId, element } from "./elements.js";

/** @typedef {import("../storage.js").Entry} Entry */

const WORDS = {
  accepted: ["Thank you. Your answers have arrived.", "The server has stored what your device sent, once."],
  waiting: [
    "Your answers wait on this device.",
    "They are randomised and kept here, and the server cannot be reached. This page sends them when it can; you may close it and come back later.",
  ],
  refused: ["The server did not take the answers.", "It refused them for good; sending again would not help. What they cost stays counted."],
  withdrawn: ["You have withdrawn your answers to this survey.", "They are not given again."],
};

/**
 * @param {Pick<Entry, "state" | "survey" | "version" | "epsilon" | "digest" | "api">} entry
 * @param {{title: string, spent: string, reason?: string | undefined}} about With the epsilon that this device has spent in all.
 */
export function showReceipt({ state, survey, version, epsilon, digest, api }, { title, spent, reason }) {
  const [heading, words] = WORDS[state];
  const server = api.replace(/\/api\/v1$/, "");
  const facts = { survey, version, title, server, digest, epsilon, state };
  const file = new Blob([`${JSON.stringify(facts, null, 2)}\n`], { type: "application/json" });
  byId("receipt-heading").textContent = heading;
  byId("receipt-words").replaceChildren(
    element("p", {}, words),
    ...(reason ? [element("p", {}, reason)] : []),
    element("dl", {},
      ...Object.entries({
        Survey: `${title} (${survey}, version ${version})`,
        Server: server,
        "Privacy loss (epsilon)": `${epsilon} for this survey, ${spent} on this device in all`,
        Digest: digest,
      }).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    ),
    element("p", {}, "Your answers themselves are no longer on this page, and were never stored."),
    element("p", {}, element("a", { href: URL.createObjectURL(file), download: `${survey}-${version}-receipt.json`, class: "button" }, "Save this receipt")),
  );
}
