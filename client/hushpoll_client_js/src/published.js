/**
 * Reading and checking a published survey. A device trusts none of it: it recomputes every threshold, adds up the epsilons, divides the
 * total by the split itself, and refuses the manifest if any of it disagrees.
 */

import { readAttribute } from "./attribute.js";
import { splitBudget } from "./budget.js";
import { canonicalJson, parseJson, sha256Hex } from "./canonical.js";
import { layOut } from "./codec.js";
import { formatDecimal, parseDecimal } from "./decimals.js";
import { InvalidParameter, ManifestRefused } from "./errors.js";
import { load } from "./features.js";
import { GIVEN, integer, LIST, must, NAME, oneOf, shape, text, TIME } from "./rules.js";
import { DESCRIPTION, LANGUAGE, PURPOSE, TITLE } from "./wording.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * The words of a survey in one more language.
 *
 * @typedef {object} Translation
 * @property {string} title
 * @property {string} [description]
 * @property {string} [purpose]
 * @property {string} [thanks]
 * @property {string} [logo] What is read in its place.
 * @property {Record<string, string>} [sections] By each section's name in the survey.
 * @property {Record<string, {question?: string, categories?: string[], missing?: string, unit?: string, help?: string, ends?: string[]}>} [attributes] By each attribute's name.
 * @property {Record<string, string>} [selects] What is asked, by each select-all's name.
 * @property {Record<string, string>} [select_help] What is read below it, by each select-all's name.
 * @property {Record<string, string>} [matrices] What is asked, by each matrix's name.
 */

/**
 * A published survey that has been checked: the manifest's own members, and what follows from them.
 *
 * @typedef {object} Published
 * @property {string} name
 * @property {number} version
 * @property {string} title
 * @property {string} [description]
 * @property {string} [operator] Who asks and is responsible.
 * @property {string} [purpose] What the answers are used for.
 * @property {string} [language] Language tag of the survey's own words.
 * @property {Record<string, Translation>} [translations] By language tag.
 * @property {true} [shared_device] Several people may answer on one device, each with a ledger of their own.
 * @property {string} [thanks] What is read after answering.
 * @property {{image: string, alt: string}} [logo] SHA-256 of an image of the server's, and what is read in its place.
 * @property {string} [opens] From when reports are taken, until before `closes`: YYYY-MM-DDTHH:MM:SSZ.
 * @property {string} [closes]
 * @property {string} epsilon Total budget of one respondent, a canonical decimal string in [1e-6, 64].
 * @property {"open" | "token" | "invited"} submission
 * @property {string} [invitation_key] Of an invited survey, the key by which what comes for an invitation is checked: 32 bytes, base64url.
 * @property {typeof import("./invited.js")} [invited] Of an invited survey, how invitations are redeemed.
 * @property {number} minimum_batch
 * @property {"weekly" | "end" | "immediate"} [release] When analysts are given what has come in meanwhile; daily if absent.
 * @property {readonly Attribute[]} attributes
 * @property {readonly import("./selects.js").Selection[]} [selects] Which of them are one select-all question.
 * @property {readonly import("./matrices.js").Matrix[]} [matrices] Which of them are the rows of a table.
 * @property {typeof import("./selects.js").spreadAnswers} [spread] Of a survey with select-alls, how lists of options become answers.
 * @property {readonly import("./codec.js").Field[]} fields Blocks and attributes in clear, in record order.
 * @property {number} recordSize Bytes of every record.
 * @property {string} digest SHA-256 of the canonical form, 64 hexadecimal digits.
 */

const RULES = {
  format: GIVEN,
  name: NAME,
  version: integer(1, 2 ** 31 - 1),
  title: TITLE,
  epsilon: GIVEN,
  split: GIVEN,
  submission: oneOf("open", "token", "invited"),
  "invitation_key?": GIVEN,
  minimum_batch: integer(1, 1e9),
  attributes: LIST,
  "together?": LIST,
  "selects?": LIST,
  "draws?": LIST,
  "matrices?": LIST,
  "description?": DESCRIPTION,
  "operator?": text(200),
  "purpose?": PURPOSE,
  "language?": LANGUAGE,
  "translations?": GIVEN,
  // One that is not shared is spelled by leaving it out.
  "shared_device?": oneOf(true),
  "opens?": TIME,
  "closes?": TIME,
  "protected?": GIVEN,
  // Daily is spelled by leaving it out.
  // Read by presentation.js.
  "thanks?": GIVEN,
  "logo?": GIVEN,
  "release?": oneOf("weekly", "end", "immediate"),
};

/**
 * Read a published manifest, believing nothing of it that can be recomputed.
 *
 * @param {unknown} value The canonical bytes as they are served, or the JSON value.
 * @returns {Promise<Published>}
 * @throws {ManifestRefused} Naming the field.
 */
export async function readPublished(value) {
  try {
    const document = value instanceof Uint8Array ? parseJson(value) : value;
    const { format = 1 } = Object(document);
    // Before its keys: a later format has some that this version does not know.
    must(format === 1 || format === 2, "format", format, "1 or 2; update hushpoll");
    const read = shape(document, "", RULES);
    const { opens, closes, epsilon, split, together, selects, draws, matrices } = read;
    const joint = together ?? selects ?? draws;
    const first = together ? "together" : selects ? "selects" : draws ? "draws" : "together";
    const uses = (/** @type {string} */ key) => read.attributes.some((/** @type {unknown} */ one) => key in Object(one));
    const later = joint ? first : matrices ? "matrices" : ["ask_if", "number"].find(uses);
    must(format === 1 ? !joint && !matrices : later && joint?.length !== 0, first, joint, "in format 2 alone");
    // The comparison is false where either is absent.
    must(!(opens >= closes), "closes", closes, `after ${opens}`);
    const total = parseDecimal(epsilon, "epsilon");
    const { blocks, draws: drawing, followUps, groups, numbers, presenting, tables, selecting, translations, invited } = await load(read);
    const { invitation_key: key } = read;
    if (invited) invited.checkKey(key);
    else must(!key, "invitation_key", key, "absent");
    const several = blocks?.readTogether(together) ?? [];
    const owners = new Map(several.flatMap((block) => block.attributes.map((name) => [name, block.name])));
    /** @type {Attribute[]} */
    const attributes = read.attributes.map((/** @type {unknown} */ one, /** @type {number} */ at) => readAttribute(one, at, owners));
    numbers?.readNumbers(attributes, format);
    followUps?.findRouters(attributes, format);
    selecting?.checkSelects(selects, attributes, several);
    const alone = attributes.map(({ name, k, units, epsilon, oracle, draw }, at) => {
      const part = { name, where: `attributes[${name}]`, places: [at], k, units, epsilon, oracle };
      /** @type {import("./codec.js").Part["code"]} */
      const code = draw && ((codes, bits) => draw(codes[at], bits));
      return code ? { ...part, code } : part;
    });
    const parts = blocks?.joinParts(alone, attributes, several) ?? alone;
    const layout = layOut(drawing?.drawParts(parts, draws) ?? parts);
    must(format === 1 || layout.recordSize <= 1024, String(later), layout.recordSize, "at most 1024 bytes");
    checkAttributes(attributes);
    tables?.checkMatrices(read, attributes);
    presenting?.checkPresentation({ ...read, attributes });
    translations?.checkTranslations({ ...read, attributes });
    must(!joint || split !== "k-based", "split", split, "another: there are blocks");
    selecting?.checkDrawn(selects, layout.fields);
    if (drawing) drawing.checkShares(total, split, layout.fields, selecting?.dividing(selects));
    else checkBudget(total, split, layout.fields, selecting?.dividing(selects));
    groups?.checkProtected(read.protected, attributes);
    const digest = await sha256Hex(canonicalJson(read));
    return /** @type {Published} */ (/** @type {unknown} */ ({ ...read, attributes, ...layout, digest, invited, spread: selecting?.spreadAnswers }));
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error;
    throw new ManifestRefused(`manifest refused: ${error.message}`, { field: error.field });
  }
}

/** @param {readonly Attribute[]} attributes */
function checkAttributes(attributes) {
  const { length } = attributes;
  must(length <= 256 && attributes.some((attribute) => attribute.oracle), "attributes", length, "1 to 256, with a sensitive one");
  attributes.forEach(({ name, role, section }, at) => {
    const before = attributes.slice(0, at);
    const again = section !== undefined && before.at(-1)?.section !== section && before.some((attribute) => attribute.section === section);
    must(!again, `attributes[${name}].section`, section, "one run of questions");
    const once = (/** @type {unknown} */ repeated, /** @type {string} */ key) =>
      must(!repeated, `attributes[${name}].${key}`, name, "there once");
    once(before.some((attribute) => attribute.name === name), "name");
    once(role === "target" && before.some((attribute) => attribute.role === role), "role");
  });
}

/**
 * @param {bigint} total
 * @param {unknown} split
 * @param {readonly import("./codec.js").Field[]} fields
 * @param {typeof splitBudget} [divide]
 */
function checkBudget(total, split, fields, divide = splitBudget) {
  const perturbed = fields.filter(({ oracle }) => oracle);
  const spent = perturbed.reduce((sum, { units }) => sum + units, 0n);
  must(spent <= total, "epsilon", formatDecimal(total), `at least ${formatDecimal(spent)}`);
  const parts = divide(total, split, perturbed);
  perturbed.forEach(({ where, units, epsilon }, at) => {
    must(units === parts[at], `${where}.epsilon`, epsilon, `${formatDecimal(parts[at])} by the split`);
  });
}
