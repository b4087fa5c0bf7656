/** The public names of the SDK; what few need is in `hushpoll/surveyjs`, `hushpoll/memory_storage` and `hushpoll/words/de`. */

export { SurveyClient } from "./client.js";
export {
  BudgetExhausted,
  ConsentMissing,
  HushpollError,
  InvalidParameter,
  ManifestRefused,
  StorageError,
  TransportError,
} from "./errors.js";
export { inWords, preview } from "./preview.js";
export { readPublished } from "./published.js";
export { Words } from "./words.js";
