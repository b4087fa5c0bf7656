import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { secureBits } from "../../client/hushpoll_client_js/src/bits.js";
import { parseDecimal } from "../../client/hushpoll_client_js/src/decimals.js";
import { disclosure, REVEALED } from "../../client/hushpoll_client_js/src/disclosure.js";
import { encloseExp, floorInExp } from "../../client/hushpoll_client_js/src/exponential.js";
import { support, SUPPORTS } from "../../client/hushpoll_client_js/src/inspection.js";
import { create, PROTOCOLS } from "../../client/hushpoll_client_js/src/registry.js";
import { replayBits } from "../../client/hushpoll_client_js/src/replay.js";

const { thresholds: RESOLVED } = JSON.parse(readFileSync(new URL("../vectors/thresholds.json", import.meta.url), "utf8"));

/** An oracle over five values, with the parameters that Python has chosen at epsilon 1. */
function oracleOf(name, epsilon = "1") {
  const { parameters } = RESOLVED.find((vector) => vector.protocol === name && vector.k === 5 && vector.epsilon === "1");
  return create(name, 5, parseDecimal(epsilon, "epsilon"), parameters);
}

/** Chances that the support holds the truth, and another value: they follow from p, the ratio and the support's size. */
function law(oracle) {
  const { ratio, truth, supportSize } = REVEALED[oracle.name](oracle);
  const [odds, p] = [ratio, truth].map(([numerator, denominator]) => Number(numerator) / Number(denominator));
  return [p, supportSize ? (supportSize - p) / (oracle.k - 1) : p / (p + odds * (1 - p))];
}

test("the tables of protocols agree", () => {
  for (const table of [SUPPORTS, REVEALED]) assert.deepEqual(Object.keys(table), Object.keys(PROTOCOLS));
});

for (const name of Object.keys(PROTOCOLS)) {
  test(`${name} draws from its law`, () => {
    const oracle = oracleOf(name);
    const draws = 20_000;
    for (const value of [0, 4]) {
      const counts = Array(5).fill(0);
      for (let i = 0; i < draws; i++) for (const v of support(oracle, oracle.randomize(value, secureBits))) counts[v]++;
      const [p, q] = law(oracle);
      counts.forEach((count, v) => {
        const chance = v === value ? p : q;
        // Six standard deviations: one run in 10^7 fails by chance.
        const slack = 6 * Math.sqrt((chance * (1 - chance)) / draws);
        assert.ok(Math.abs(count / draws - chance) < slack, `${v}: ${count / draws} instead of ${chance}`);
      });
    }
  });
}

test("every position of a bit record is perturbed, at both ends of a threshold", () => {
  for (const name of ["RAPPOR", "OUE", "THE"]) {
    const oracle = oracleOf(name);
    const { P, R } = oracle.thresholds;
    const bitsOf = (words) => support(oracle, oracle.randomize(3, replayBits(words)));
    assert.deepEqual(bitsOf(Array(5).fill(R - 1n)), [0, 1, 2, 3, 4]);
    assert.deepEqual(bitsOf(Array(5).fill(R)), [3]);
    assert.deepEqual(bitsOf(Array(5).fill(P)), []);
  }
});

test("secure words differ, and any number of them can be drawn", () => {
  const words = secureBits(20_000);
  assert.equal(new Set(words).size, 20_000);
  assert.notEqual(words[19_999], 0n);
  assert.equal(secureBits(0).length, 0);
});

test("replayed words are words, and end", () => {
  assert.throws(() => replayBits([1n << 64n]), { field: "words" });
  assert.throws(() => replayBits([-1n]), { field: "words" });
  assert.throws(() => replayBits([1n])(2), { field: "words" });
});

test("e^x lies strictly within its enclosure, which is as narrow as asked for", () => {
  for (const x of [-64, -1, -1e-6, 1e-6, 0.5, 1, 10, 64]) {
    const rational = [BigInt(Math.round(x * 1e6)), 10n ** 6n];
    let [low, high] = encloseExp(rational, 256n);
    assert.ok(high - low > 0n && high - low < low >> 200n || x < 0);
    assert.ok(Math.abs(Number(low) / 2 ** 256 / Math.exp(x) - 1) < 1e-12);
    // Twice the digits lie inside.
    [low, high] = [low << 256n, high << 256n];
    const [inner, outer] = encloseExp(rational, 512n);
    assert.ok(low < inner && outer < high);
  }
});

test("a floor that 256 bits cannot decide is decided with more", () => {
  // e^(10^-90) - 1 is just over 10^-90: its inverse needs some 600 bits.
  const tiny = 10n ** 90n;
  assert.equal(floorInExp((e, scale) => [scale, e - scale || 1n], [1n, tiny]), tiny - 1n);
});

test("parameters outside their intervals are refused, naming them", () => {
  const refused = [
    ["OLH", { g: 1 }, "parameters.g"],
    ["OLH", { g: 65537 }, "parameters.g"],
    ["OLH", { g: "4" }, "parameters.g"],
    ["SS", { omega: 0 }, "parameters.omega"],
    ["SS", { omega: 5 }, "parameters.omega"],
    ["THE", { theta: "0.5000" }, "parameters.theta"],
    ["THE", { theta: "0.70" }, "parameters.theta"],
    ["THE", { theta: 0.7 }, "parameters.theta"],
    ["THE", { theta: ["0.7000"] }, "parameters.theta"],
    ["THE", {}, "parameters"],
    ["GRR", { g: 2 }, "parameters"],
  ];
  for (const [name, parameters, field] of refused) assert.throws(() => create(name, 5, 10n ** 12n, parameters), { field });
});

test("a larger epsilon discloses more, and never less than a blind guess", () => {
  for (const name of Object.keys(PROTOCOLS)) {
    const chances = ["0.000001", "0.5", "1", "4", "20"].map((epsilon) => disclosure(oracleOf(name, epsilon)));
    for (const key of ["bestGuess", "largestPosterior"]) {
      const values = chances.map((chance) => Number(chance[key]));
      assert.ok(values[0] >= 0.2);
      assert.deepEqual(values, values.toSorted());
    }
  }
});
