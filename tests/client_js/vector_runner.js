/**
 * The golden vectors of tests/vectors, run against the SDK: the same code in node and in a page.
 *
 * A group's function throws where the SDK does not do exactly what the vector says.
 */

import { ristretto255_oprf } from "../../client/hushpoll_client_js/node_modules/@noble/curves/ed25519.js";
import { hex64 } from "../../client/hushpoll_client_js/src/attribute.js";
import { checkKey, finalized } from "../../client/hushpoll_client_js/src/invited.js";
import { b64encode } from "../../client/hushpoll_client_js/src/base64url.js";
import { b64decode } from "../../client/hushpoll_client_js/src/base64url_reader.js";
import { splitBudget } from "../../client/hushpoll_client_js/src/budget.js";
import { canonicalJson, hex, parseJson } from "../../client/hushpoll_client_js/src/canonical.js";
import { consequences } from "../../client/hushpoll_client_js/src/consequences.js";
import { codeAnswers, encode } from "../../client/hushpoll_client_js/src/codec.js";
import { formatDecimal, parseDecimal, UNIT } from "../../client/hushpoll_client_js/src/decimals.js";
import { disclosure, REVEALED } from "../../client/hushpoll_client_js/src/disclosure.js";
import { InvalidParameter, MalformedRecord, ManifestRefused } from "../../client/hushpoll_client_js/src/errors.js";
import { encloseExp } from "../../client/hushpoll_client_js/src/exponential.js";
import { bucket, finalise } from "../../client/hushpoll_client_js/src/hashing.js";
import { decodeClear, support } from "../../client/hushpoll_client_js/src/inspection.js";
import { acknowledged, errorFrom, offersManifest } from "../../client/hushpoll_client_js/src/problems.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { inLanguage } from "../../client/hushpoll_client_js/src/wording.js";
import { closest, direction } from "../../client/hushpoll_client_js/src/languages.js";
import { posteriorBounds } from "../../client/hushpoll_client_js/src/odds.js";
import { inWords, preview } from "../../client/hushpoll_client_js/src/preview.js";
import { questionLevel, surveyLevel } from "../../client/hushpoll_client_js/src/protection.js";
import { drawAnchor } from "../../client/hushpoll_client_js/src/numbers.js";
import { factor, guessSentence, protectionOfQuestion, truthSentence } from "../../client/hushpoll_client_js/src/sentences.js";
import { create } from "../../client/hushpoll_client_js/src/registry.js";
import { replayBits } from "../../client/hushpoll_client_js/src/replay.js";
import { parseReport } from "../../client/hushpoll_client_js/src/report_reader.js";
import { encodeReport } from "../../client/hushpoll_client_js/src/wire.js";
import * as de from "../../client/hushpoll_client_js/src/words/de.js";
import * as en from "../../client/hushpoll_client_js/src/words/en.js";
import * as es from "../../client/hushpoll_client_js/src/words/es.js";
import * as fr from "../../client/hushpoll_client_js/src/words/fr.js";

const CATALOGUES = { de, en, es, fr };

/** Files by name, without their ending. */
export const FILES = ["answers", "budgets", "draws", "hashes", "invitations", "languages", "manifests", "protection", "records", "refusals", "thresholds", "wire", "withdrawals"];

/** Groups for the side that writes surveys or takes bulk uploads, which no device does. */
export const NOT_FOR_DEVICES = ["refusals.drafts", "wire.bulk", "wire.refused_bulk"];

const { voprf } = ristretto255_oprf;
const bytesOf = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));

/** Random bytes of which `voprf` makes this scalar: it adds 1 to their remainder by the order less 1. */
const drawing = (scalar) => () => {
  const seed = new Uint8Array(48);
  seed.set(scalar);
  for (let at = 0; seed[at]-- === 0; at++);
  return seed;
};

const GROUPS = {
  "invitations.rfc9497": (vector) => {
    const [seed, info, input, blind, r] = ["seed", "key_info", "input", "blind", "r"].map((name) => bytesOf(vector[name]));
    const key = voprf.deriveKeyPair(seed, info);
    same([hex(key.secretKey), hex(key.publicKey)], [vector.secret, vector.public]);
    const { blinded } = voprf.blind(input, drawing(blind));
    same(hex(blinded), vector.blinded);
    const { evaluated, proof } = voprf.blindEvaluate(key.secretKey, key.publicKey, blinded, drawing(r));
    same([hex(evaluated), hex(proof)], [vector.evaluated, vector.proof]);
    same(hex(finalized(input, blind, evaluated, blinded, key.publicKey, proof)), vector.output);
  },
  "invitations.tokens": ({ key, input, blind, request, answer, token, refused }) => {
    const [given, scalar] = [bytesOf(input), bytesOf(blind)];
    checkKey(key);
    const { blinded } = voprf.blind(given, drawing(scalar));
    same(b64encode(blinded), request.blinded);
    const [evaluated, proof] = [b64decode(answer.evaluated, "evaluated"), b64decode(answer.proof, "proof")];
    const finish = (key) => finalized(given, scalar, evaluated, blinded, b64decode(key, "key"), proof);
    same(b64encode(new Uint8Array([...given, ...finish(key)])), token);
    for (const other of refused) {
      let field;
      try {
        finish(other);
      } catch (error) {
        field = error instanceof InvalidParameter && error.field;
      }
      same(field, "proof");
    }
  },
  "thresholds.thresholds": (vector) => {
    const oracle = oracleOf(vector);
    same(hexThresholds(oracle), vector.thresholds);
    same(oracle.parameters, vector.parameters);
    same(oracle.recordSize, vector.record_size);
    const { bestGuess, largestPosterior } = disclosure(oracle);
    same([bestGuess, largestPosterior], [vector.best_guess, vector.largest_posterior]);
    checkRealizedEpsilon(REVEALED[oracle.name](oracle).ratio, vector.realized_epsilon);
  },
  "protection.levels": ({ parts, questions, survey }) => {
    const units = parts.map((part) => parseDecimal(part, "epsilon"));
    same(units.map(questionLevel), questions);
    same(surveyLevel(units), survey);
  },
  "protection.labels": async ({ published, hosted, said }) => {
    const survey = await readPublished(published);
    for (const [language, [title, heads, rows, notes]] of Object.entries(said)) {
      const label = consequences(survey, { catalogue: CATALOGUES[language], hosted });
      same([label.title, label.heads, label.notes], [title, heads, notes]);
      same(label.rows.map(({ party, clear, randomised, why }) => [party, clear ?? null, randomised, why]), rows);
    }
  },
  "protection.factors": ({ epsilon, factor: expected }) => {
    same(factor(parseDecimal(epsilon, "epsilon")), expected);
  },
  "protection.posteriors": ({ epsilon, prior, low, high }) => {
    const bounds = posteriorBounds(prior.map(BigInt), parseDecimal(epsilon, "epsilon"));
    same(bounds.map(Number), [low, high]);
  },
  "protection.questions": (vector) => {
    const oracle = oracleOf(vector);
    const revealed = disclosure(oracle);
    const { words, limit, changes } = protectionOfQuestion(parseDecimal(vector.epsilon, "epsilon"));
    const said = [words, truthSentence(oracle.k, revealed), limit, ...changes.map(({ range }) => range), guessSentence(oracle.k, revealed)];
    same(said, vector.sentences);
  },
  "protection.previews": async ({ published, language, preview: expected }) => {
    same(inWords(preview(inLanguage(await readPublished(published), language))), expected);
  },
  "languages.closest": ({ wanted, offered, closest: expected }) => {
    same(closest(wanted, offered) ?? null, expected);
  },
  "languages.directions": ({ tag, direction: expected }) => {
    same(direction(tag), expected);
  },
  "withdrawals.withdrawals": async ({ secret, id, digest, body }) => {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", b64decode(secret, "secret")));
    same(b64encode(hash.slice(0, 16)), id);
    same(JSON.stringify({ digest, secret }), body);
  },
  "hashes.finaliser": ({ input, output }) => {
    same(finalise(parseInt(input, 16)), parseInt(output, 16));
  },
  "hashes.buckets": ({ a, b, code, g, bucket: expected }) => {
    same(bucket(BigInt(`0x${a}`), BigInt(`0x${b}`), code, g), expected);
  },
  "records.records": (vector) => {
    const oracle = oracleOf(vector);
    const bits = replayBits(wordsOf(vector));
    const record = oracle.randomize(vector.value, bits);
    same([hex(record), bits.consumed], [vector.record, vector.consumed]);
    if (vector.support) same(support(oracle, record), vector.support);
  },
  "records.malformed": (vector) => {
    const oracle = oracleOf(vector);
    same(refusal(MalformedRecord, () => support(oracle, bytes(vector.record))).reason, vector.reason);
  },
  "budgets.budgets": ({ epsilon, split, sizes, parts, field }) => {
    const divide = () => splitBudget(parseDecimal(epsilon, "epsilon"), split, sizes.map(([name, k]) => ({ name, k })));
    if (!parts) return same(refusal(InvalidParameter, divide).field, field);
    return same(divide().map(formatDecimal), parts);
  },
  "manifests.numbers": ({ bits, json }) => {
    same(canonicalJson(new DataView(bytes(bits).buffer).getFloat64(0)), json);
  },
  "manifests.texts": ({ text, canonical }) => {
    same(hex(utf8(canonicalJson(JSON.parse(text)))), canonical);
    same(parseJson(bytes(canonical)), JSON.parse(text));
    if (hex(utf8(text)) !== canonical) refusal(InvalidParameter, () => parseJson(utf8(text)));
  },
  "manifests.refused_texts": ({ bytes: text }) => {
    refusal(InvalidParameter, () => parseJson(bytes(text)));
  },
  "manifests.manifests": async (vector) => {
    for (const given of [vector.published, utf8(canonicalJson(vector.published))]) {
      const published = await readPublished(given);
      same(published.digest, vector.digest);
      same(utf8(canonicalJson(vector.published)).length, vector.canonical_size);
      same(published.recordSize, vector.record_size);
      same(published.fields.map(({ name, offset, size }) => [name, offset, size]), vector.fields);
    }
  },
  "manifests.surveys": async (vector, { manifests }) => {
    const published = await readPublished(manifests[vector.manifest].published);
    const codes = codeAnswers(published, vector.answers);
    same(codes, vector.codes);
    const bits = replayBits(wordsOf(vector));
    const record = encode(published, codes, bits);
    same([hex(record), bits.consumed], [vector.record, vector.consumed]);
    same(decodeClear(published, record), vector.clear);
  },
  "refusals.published": async ({ changes, field }, { sound_published }) => {
    const lie = changed(sound_published, changes);
    const error = await readPublished(lie).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "refusals.blocks": async ({ changes, field }, { sound_blocks }) => {
    await readPublished(sound_blocks);
    const error = await readPublished(changed(sound_blocks, changes)).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "refusals.follow_ups": async ({ changes, field }, { sound_follow_ups }) => {
    await readPublished(sound_follow_ups);
    const error = await readPublished(changed(sound_follow_ups, changes)).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "draws.previews": async ({ published, preview: text }) => {
    same(inWords(preview(await readPublished(published))), text);
  },
  "draws.refused": async ({ published, field }) => {
    const error = await readPublished(published).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "refusals.numbers": async ({ changes, field }, { sound_numbers }) => {
    await readPublished(sound_numbers);
    const error = await readPublished(changed(sound_numbers, changes)).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "refusals.answers_numbers": async ({ answers, field }, { sound_numbers }) => {
    const published = await readPublished(sound_numbers);
    const error = refusal(InvalidParameter, () => codeAnswers(published, answers));
    same(error.field, field);
    for (const answer of ["5001", "5.5", "5e2", "much", "99999"]) if (error.message.includes(answer)) throw new Error(error.message);
  },
  "records.anchors": ({ anchors, value, words, consumed, place }) => {
    const bits = replayBits(words.map((word) => BigInt(`0x${word}`)));
    same(drawAnchor(anchors, value, bits), place);
    same(bits.consumed, consumed);
  },
  "refusals.answers_together": async ({ answers, field }, { sound_follow_ups }) => {
    const published = await readPublished(sound_follow_ups);
    const { attributes } = published;
    const error = refusal(InvalidParameter, () => codeAnswers(published, answers));
    same(error.field, field);
    for (const answer of ["more than 20", "up to 20", "30", "daily"]) {
      if (error.message.includes(answer) && !attributes.some(({ domain }) => domain.includes(answer))) throw new Error(error.message);
    }
  },
  "refusals.selects": async ({ changes, field }, { sound_selects }) => {
    await readPublished(sound_selects);
    const error = await readPublished(changed(sound_selects, changes)).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "refusals.matrices": async ({ changes, field }, { sound_matrices }) => {
    await readPublished(sound_matrices);
    const error = await readPublished(changed(sound_matrices, changes)).then(() => undefined, (reason) => reason);
    if (!(error instanceof ManifestRefused)) throw new Error(`not refused: ${error}`);
    same(error.field, field);
  },
  "refusals.selections": async ({ answers, field }, { sound_selects }) => {
    const published = await readPublished(sound_selects);
    const error = refusal(InvalidParameter, () => codeAnswers(published, answers));
    same(error.field, field);
    if (error.message.includes("pink")) throw new Error(error.message);
  },
  "refusals.odd": async ({ changes, field }, { sound_published }) => {
    await readAlike(canonicalJson(changed(sound_published, changes)), field);
  },
  "refusals.texts": async ({ replaced: [part, instead], field }, { sound_published }) => {
    const text = canonicalJson(sound_published);
    if (part !== "*" && !text.includes(part)) throw new Error(`the text has no ${part}`);
    await readAlike(part === "*" ? instead : text.replace(part, () => instead), field);
  },
  "refusals.answers": async ({ answers, field }, { sound_published }) => {
    const published = await readPublished(sound_published);
    const error = refusal(InvalidParameter, () => codeAnswers(published, answers));
    same(error.field, field);
    for (const shown of ["pink", "oslo", '"x"']) if (error.message.includes(shown)) throw new Error("shows an answer");
  },
  "wire.base64url": ({ text, bytes: expected }) => {
    if (expected === null) return refusal(InvalidParameter, () => b64decode(text, "record"));
    same(b64encode(bytes(expected)), text);
    return same(hex(b64decode(text, "record")), expected);
  },
  "wire.reports": ({ digest, id, record, json }) => {
    same(JSON.parse(encodeReport({ digest, id: bytes(id), record: bytes(record) })), json);
    const read = parseReport(json);
    same([read.digest, hex(read.id), hex(read.record)], [digest, id, record]);
  },
  "wire.refused_reports": ({ json, field }) => {
    // A body that is no object has no field; Python calls it `report`, the reader of objects `manifest`.
    const { field: named } = refusal(InvalidParameter, () => parseReport(json));
    same(named === "manifest" ? "report" : named, field);
  },
  "wire.problems": ({ type, status, retryable }) => {
    const { problem, ...error } = errorFrom({ status, type: "application/problem+json", body: utf8(JSON.stringify({ type })) });
    same([error.retryable, problem.code], [retryable, type.split(":").pop()]);
  },
  "answers.answers": ({ media_type: type, body: text, report, survey }, { statuses }) => {
    const body = Uint8Array.from(text, (character) => character.charCodeAt(0));
    for (const status of statuses) {
      const answer = { status, type, body };
      const { problem, retryable } = errorFrom(answer);
      const ends = retryable ? null : problem.code;
      same([status, acknowledged(answer) ?? ends], [status, report[status] ?? null]);
      same([status, offersManifest(answer) ? "manifest" : ends], [status, survey[status] ?? null]);
    }
  },
};

/**
 * Run every group of every file.
 *
 * @param {Record<string, any>} documents The parsed files by name.
 * @returns {Promise<{passed: Record<string, number>, failures: string[]}>}
 */
export async function runVectors(documents) {
  const passed = {};
  const failures = [];
  for (const [file, document] of Object.entries(documents)) {
    for (const group of Object.keys(document.fields)) {
      const name = `${file}.${group}`;
      if (NOT_FOR_DEVICES.includes(name)) continue;
      passed[name] = 0;
      for (const [place, vector] of document[group].entries()) {
        try {
          await GROUPS[name](vector, document);
          passed[name] += 1;
        } catch (error) {
          failures.push(`${name}[${place}]: ${error.stack}`);
        }
      }
    }
  }
  return { passed, failures };
}

/** Read a published manifest's text: without a field it is read, else the error names this field. */
async function readAlike(text, field) {
  const read = await readPublished(utf8(text)).catch((reason) => reason);
  if (field === null) same(read.digest, hex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text)))));
  else if (read instanceof ManifestRefused) same(read.field, field);
  else throw new Error(`not refused: ${read}`);
}

/** Fail where `realized` is not ln(ratio) rounded up to 12 places. */
function checkRealizedEpsilon([inside, outside], realized) {
  const units = BigInt(realized.replace(".", ""));
  const [, above] = encloseExp([units - 1n, UNIT], 512n);
  const [below] = encloseExp([units, UNIT], 512n);
  const ratio = (inside << 512n) / outside;
  if (units > 1n && !(above <= ratio)) throw new Error(`realised epsilon is under ${realized}`);
  if (!(ratio <= below)) throw new Error(`realised epsilon is over ${realized}`);
}

function oracleOf({ protocol, k, epsilon, parameters }) {
  return create(protocol, k, parseDecimal(epsilon, "epsilon"), parameters);
}

function hexThresholds({ thresholds }) {
  return Object.fromEntries(
    Object.entries(thresholds).map(([name, value]) => [name, hex64(value)]),
  );
}

export function changed(document, changes) {
  const copy = structuredClone(document);
  for (const [path, ...value] of changes) {
    const last = path[path.length - 1];
    const parent = path.slice(0, -1).reduce((inner, key) => inner[key], copy);
    if (value.length) parent[last] = value[0];
    else if (Array.isArray(parent)) parent.splice(last, 1);
    else delete parent[last];
  }
  return copy;
}

const utf8 = (text) => new TextEncoder().encode(text);

const wordsOf = ({ words }) => words.map((word) => BigInt(`0x${word}`));

export const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

function same(given, expected) {
  const [a, b] = [given, expected].map((value) => canonicalJson(value));
  if (a !== b) throw new Error(`${a} instead of ${b}`);
}

function refusal(type, run) {
  try {
    run();
  } catch (error) {
    if (error instanceof type) return error;
    throw error;
  }
  throw new Error("not refused");
}
