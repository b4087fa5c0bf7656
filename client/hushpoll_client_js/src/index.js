/** The public names of the SDK. */

export { ReplayBits, SecureBits } from "./bits.js";
export { canonicalJson, parseJson } from "./canonical.js";
export { disclosure } from "./disclosure.js";
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
export { create, PROTOCOLS } from "./registry.js";
export { encodeReport, parseReport } from "./wire.js";
