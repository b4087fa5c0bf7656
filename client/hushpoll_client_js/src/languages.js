/** Which language of a survey a reader gets, and in which direction it is written: the tables of Python's `languages.py`. */

// Older and other tags of one language; ISO 639 and the registry of BCP 47.
/** @type {Record<string, string>} */
const SAME = {
  iw: "he", in: "id", ji: "yi", mo: "ro", tl: "fil", cmn: "zh", arb: "ar",
  pes: "fa", prs: "fa", swh: "sw", ekk: "et", lvs: "lv", zsm: "ms", khk: "mn",
};
// Languages whose readers read each other's, the nearest first.
/** @type {Record<string, string[]>} */
const NEAR = {
  no: ["nb", "nn"], nb: ["no", "nn"], nn: ["no", "nb"],
  sh: ["sr", "hr", "bs"], sr: ["sh"], hr: ["sh"], bs: ["sh"], yue: ["zh"],
};
// Of languages in several scripts: the one of a tag that names none, by region ("" for all others).
/** @type {Record<string, Record<string, string>>} */
const SCRIPTS = {
  zh: { "": "Hans", TW: "Hant", HK: "Hant", MO: "Hant" },
  yue: { "": "Hant", CN: "Hans" },
  sr: { "": "Cyrl", ME: "Latn" },
  sh: { "": "Latn" },
  az: { "": "Latn", IR: "Arab" },
  uz: { "": "Latn", AF: "Arab" },
  pa: { "": "Guru", PK: "Arab" },
  kk: { "": "Cyrl", CN: "Arab", IR: "Arab" },
  ky: { "": "Cyrl", CN: "Arab" },
  mn: { "": "Cyrl", CN: "Mong" },
  ku: { "": "Latn", IQ: "Arab", IR: "Arab" },
  ms: { "": "Latn", CC: "Arab" },
  ha: { "": "Latn", SD: "Arab" },
  sd: { "": "Arab", IN: "Deva" },
  ks: { "": "Arab", IN: "Arab" },
};
const RIGHT_TO_LEFT_SCRIPTS = "Adlm Arab Aran Hebr Mand Nkoo Rohg Samr Syrc Thaa Yezi".split(" ");
const RIGHT_TO_LEFT = ("aeb ajp apc ar arc ars ary arz azb bal bqi ckb dv fa glk he khw ks lrc luz mzn nqo pnb ps sd " +
  "sdh skr syr ug ur yi").split(" ");

/**
 * Whether a language is written from right to left, as the attribute `dir` says it.
 *
 * @param {string} [tag]
 * @returns {"ltr" | "rtl"}
 */
export function direction(tag = "") {
  const [language, script] = parsed(tag);
  return (script ? RIGHT_TO_LEFT_SCRIPTS.includes(script) : RIGHT_TO_LEFT.includes(language)) ? "rtl" : "ltr";
}

/**
 * The language of a survey for a reader: `languageFor(published, navigator.languages)`, to be handed to `inLanguage`.
 *
 * @param {Pick<import("./published.js").Published, "language" | "translations">} published
 * @param {readonly string[]} wanted Language tags by preference.
 * @returns {string | undefined} The survey's own language where the reader reads none of its languages.
 */
export function languageFor({ language, translations }, wanted) {
  const offered = language === undefined ? [] : [language, ...Object.keys(translations ?? {}).sort()];
  for (const tag of wanted) {
    const found = closest(tag, offered);
    if (found !== undefined) return found;
  }
  return language;
}

/**
 * The offered language that a reader of `tag` reads best.
 *
 * @param {string} tag
 * @param {readonly string[]} offered
 */
export function closest(tag, offered) {
  const [language, script, region] = parsed(tag);
  const languages = [language, ...own(NEAR, language, [])];
  /** @type {[number[], string] | undefined} */
  let best;
  for (const candidate of offered) {
    const [theirs, written, where] = parsed(candidate);
    if (!languages.includes(theirs)) continue;
    const rank = [languages.indexOf(theirs), Number(written !== script), distance(region, where)];
    if (!best || before(rank, best[0])) best = [rank, candidate];
  }
  return best?.[1];
}

/** @param {number[]} rank @param {number[]} other */
function before(rank, other) {
  const at = rank.findIndex((value, place) => value !== other[place]);
  return at >= 0 && rank[at] < other[at];
}

/**
 * The parts of a tag, its script also where the region or the language tells it.
 *
 * @param {string} tag
 * @returns {[language: string, script: string, region: string]}
 */
function parsed(tag) {
  const [first, ...others] = tag.replaceAll("_", "-").toLowerCase().split("-");
  const language = own(SAME, first, first);
  const named = others.find((part) => /^[a-z]{4}$/.test(part)) ?? "";
  const region = (others.find((part) => part.length === 2 || /^\d+$/.test(part)) ?? "").toUpperCase();
  const usual = own(SCRIPTS, language, {});
  return [language, named ? named[0].toUpperCase() + named.slice(1) : own(usual, region, own(usual, "", "")), region];
}

/** How far regions are apart: the same, none named, one of several countries, another. @param {string} wanted @param {string} have */
const distance = (wanted, have) => (wanted === have ? 0 : !have ? 1 : /^\d+$/.test(have) ? 2 : 3);

/** @template T @param {Record<string, T>} table @param {string} key @param {T} otherwise */
const own = (table, key, otherwise) => (Object.hasOwn(table, key) ? table[key] : otherwise);
