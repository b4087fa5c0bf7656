import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { FILES, NOT_FOR_DEVICES, runVectors } from "./vector_runner.js";

const folder = new URL("../vectors/", import.meta.url);
const documents = Object.fromEntries(
  FILES.map((name) => [name, JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"))]),
);

test("every file of vectors is run", () => {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  assert.deepEqual(names.sort(), FILES.map((name) => `${name}.json`));
  for (const name of NOT_FOR_DEVICES) {
    const [file, group] = name.split(".");
    assert.ok(documents[file][group].length);
  }
});

test("every vector gives the same bytes as in Python", async () => {
  const { passed, failures } = await runVectors(documents);
  assert.deepEqual(failures, []);
  assert.ok(Object.values(passed).every((count) => count > 0));
  const total = Object.values(passed).reduce((sum, count) => sum + count, 0);
  assert.ok(total >= 1000, `${total} vectors`);
});

test("a wrong vector fails", async () => {
  for (const [file, group, key, value] of [
    ["thresholds", "thresholds", "realized_epsilon", "0.000001000001"],
    ["records", "records", "record", "01"],
    ["hashes", "buckets", "bucket", 1],
    ["refusals", "published", "field", "title"],
  ]) {
    const { comment, fields, ...rest } = documents[file];
    const spoiled = { ...rest, fields: { [group]: {} }, [group]: [{ ...rest[group][0], [key]: value }] };
    const { failures } = await runVectors({ [file]: spoiled });
    assert.equal(failures.length, 1, `${file}.${group}`);
  }
});
