/** Texts in one language, filled in with figures as that language spells them. */

import { SCRIPT } from "./words/en.js";

/** @typedef {keyof typeof SCRIPT} Key */
/** @typedef {string | Partial<Record<Intl.LDMLPluralRule, string>>} Text A text, or a text for each plural category. */
/** @typedef {Readonly<Record<Key, Text>>} Catalogue As `words/en.js` has it. */
/** @typedef {Record<string, string | number | Node>} Values What a text is filled in with; whole numbers are spelled here. */

/** The sentences about a survey in one language: `new Words(SCRIPT)`, with the `SCRIPT` of a file such as `hushpoll/words/de`. */
export class Words {
  #catalogue;
  /** @type {Pick<Intl.PluralRules, "select">} */
  #plural;
  /** @type {(value: number) => string} */
  #whole;
  /** @type {(value: number) => string} */
  #decimal;
  /** @type {(value: number | bigint) => string} */
  #grouped;
  /** @type {(value: number) => string} */
  #tenths;

  /**
   * @param {Catalogue} catalogue All texts, by key.
   */
  constructor(catalogue) {
    const language = /** @type {string} */ (catalogue.language);
    /** @param {Intl.NumberFormatOptions} options @returns {(value: number | bigint) => string} */
    const format = (options) => plainly(() => new Intl.NumberFormat(language, options).format, (value) => plain(value, options));
    this.#catalogue = catalogue;
    /** @type {Pick<Intl.PluralRules, "select">} */
    const english = { select: (count) => (count === 1 ? "one" : "other") };
    this.#plural = plainly(() => new Intl.PluralRules(language), english);
    this.#whole = format({ useGrouping: false });
    this.#decimal = format({ useGrouping: false, maximumFractionDigits: 12 });
    this.#grouped = format({ maximumFractionDigits: 2 });
    this.#tenths = format({ minimumFractionDigits: 1, maximumFractionDigits: 1 });
  }

  /**
   * A text, filled in.
   *
   * @param {Key} key
   * @param {Record<string, string | number>} [values] As for `parts`.
   */
  say(key, values) {
    return this.parts(key, values).join("");
  }

  /**
   * A text in pieces, of which some are elements of a page.
   *
   * @param {Key} key
   * @param {Values} [values] One for each name in braces; `count` also chooses among the plural forms.
   * @returns {(string | Node)[]}
   */
  parts(key, values = {}) {
    let text = this.#catalogue[key];
    if (typeof text === "object") text = text[this.#plural.select(Number(values["count"]))] ?? text.other ?? "";
    return text.split(/\{(\w+)\}/).map((part, at) => {
      const value = at % 2 ? (values[part] ?? "") : part;
      return typeof value === "number" ? this.#whole(value) : value;
    });
  }

  /**
   * A decimal, such as an epsilon.
   *
   * @param {string} value In its one spelling.
   */
  decimal(value) {
    return this.#decimal(Number(value));
  }

  /**
   * A factor, with its thousands apart.
   *
   * @param {number | bigint} value
   */
  factor(value) {
    return this.#grouped(value);
  }

  /**
   * A chance that was rounded up.
   *
   * @param {number} chance In thousandths.
   */
  high(chance) {
    return chance >= 1000 ? this.say("chance.nearly_all") : this.#percent(chance);
  }

  /**
   * A chance that was rounded down.
   *
   * @param {number} chance In thousandths.
   */
  low(chance) {
    return chance <= 0 ? this.say("chance.nearly_none") : this.#percent(chance);
  }

  /** @param {number} chance In thousandths. */
  #percent(chance) {
    return this.say("chance", { number: this.#tenths(chance / 10) });
  }
}

/**
 * What a browser makes, or what stands in for it where it lacks that part of `Intl`: figures may then be spelled the English way.
 *
 * @template T
 * @template {T} M
 * @param {() => M} make
 * @param {T} otherwise
 * @returns {T}
 */
function plainly(make, otherwise) {
  try {
    return make();
  } catch {
    return otherwise;
  }
}

/** @param {number | bigint} value @param {Intl.NumberFormatOptions} options */
const plain = (value, { minimumFractionDigits: least, maximumFractionDigits: most = 12 }) =>
  least === undefined ? String(typeof value === "bigint" ? value : Number(value.toFixed(most))) : Number(value).toFixed(least);

export const ENGLISH = new Words(SCRIPT);
