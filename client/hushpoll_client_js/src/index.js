/** The public names of the SDK; what few need is in `hushpoll/surveyjs` and `hushpoll/memory_storage`. */

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
