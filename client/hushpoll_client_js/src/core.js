/**
 * What the parts that only some surveys or moments need use of the core. They import it from here alone: a bundler then makes one file of
 * the core, where it would make one of each group of modules that the same parts share.
 */

export { checkClaims, CLAIMS } from "./attribute.js";
export { b64encode } from "./base64url.js";
export { splitBudget } from "./budget.js";
export { isAnswer } from "./consent.js";
export { alone } from "./deadline.js";
export { formatDecimal, parseDecimal } from "./decimals.js";
export { HushpollError, InvalidParameter, shown, TransportError } from "./errors.js";
export { entriesOf } from "./outbox.js";
export { pack, packedSize } from "./packing.js";
export { errorFrom, readJson } from "./problems.js";
export { K_MAX, Q } from "./protocol.js";
export { checkKeys, GIVEN, integer, LIST, MAPPING, matching, must, NAME, obey, shape, text } from "./rules.js";
export { uniformSubset } from "./subset.js";
export { exchange, retrying } from "./transport.js";
export { CATEGORY, DESCRIPTION, HELP, LANGUAGE, NOT_ASKED, PURPOSE, QUESTION, SECTION, SELECTED, THANKS, TITLE } from "./wording.js";
