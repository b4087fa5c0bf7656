/** What the examples say to a respondent, in the same words: before anything is sent, and about what was sent. */

import { HushpollError } from "hushpoll";

export const STATEMENT =
  "If you agree, the answers marked as randomised are changed by chance on this device before anything is sent. The other answers are sent as " +
  "they are. What was sent stays with the server. This browser keeps that you have answered, so that nobody answers twice.";

/** @param {{oracle?: unknown}} attribute */
export const treatment = ({ oracle }) =>
  oracle ? "Randomised on this device before anything is sent" : "Sent in clear: the survey's operator can read it";

export const NOT_YET =
  "Nothing is delivered yet: the server did not answer. The randomised answers wait in this browser, and are sent when it is reached.";

/** @param {{status: string, epsilon: string, known: boolean}} receipt */
export function outcome({ status, epsilon, known }) {
  if (known) return "This device has answered this survey before. What you answered now was neither randomised nor sent.";
  return status === "waiting" ? NOT_YET : `Delivered. Privacy loss: at most epsilon ${epsilon}.`;
}

/** @param {unknown} error Only messages of our own are shown: those of other errors could quote an answer. */
export const failure = (error) => `Nothing was delivered: ${error instanceof HushpollError ? error.message : "this page failed."}`;
