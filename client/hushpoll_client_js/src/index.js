/** The public names of the SDK; what few need, such as `memory_storage.js`, is imported by its path. */

export { SurveyClient } from "./client.js";
export {
  BudgetExhausted,
  HushpollError,
  InvalidParameter,
  ManifestRefused,
  StorageError,
  TransportError,
} from "./errors.js";
export { inWords, preview } from "./preview.js";
export { readPublished } from "./published.js";
