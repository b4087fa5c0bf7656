/** The public names of the SDK's core; `preview.js`, `memory_storage.js` and the others are imported by path. */

export { SurveyClient } from "./client.js";
export {
  BudgetExhausted,
  HushpollError,
  InvalidParameter,
  MalformedRecord,
  ManifestRefused,
  StorageError,
  TransportError,
} from "./errors.js";
export { Published } from "./published.js";
