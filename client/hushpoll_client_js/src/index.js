/** The public names of the SDK; what few need is in `hushpoll/surveyjs`, `hushpoll/memory_storage` and `hushpoll/words/de`. */

/** @typedef {import("./client.js").Options} Options */
/** @typedef {import("./consequences.js").Label} Label */
/** @typedef {import("./ledger.js").Limits} Limits */
/** @typedef {import("./outbox.js").Receipt} Receipt */
/** @typedef {import("./preview.js").Perturbed} Perturbed */
/** @typedef {import("./preview.js").Preview} Preview */
/** @typedef {import("./published.js").Published} Published */
/** @typedef {import("./storage.js").Entry} Entry */
/** @typedef {import("./storage.js").Storage} Storage */

export { SurveyClient } from "./client.js";
export { consequences } from "./consequences.js";
export {
  BudgetExhausted,
  ConsentMissing,
  HushpollError,
  InvalidParameter,
  ManifestRefused,
  StorageError,
  TransportError,
} from "./errors.js";
export { direction, languageFor } from "./languages.js";
export { inWords, preview } from "./preview.js";
export { readPublished } from "./published.js";
export { inLanguage } from "./wording.js";
export { Words } from "./words.js";
