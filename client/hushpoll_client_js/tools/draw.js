// Randomise the same answers again and again, for an audit: node draw.js ANSWERS TIMES < published.json > records
//
// ANSWERS is JSON, as an app gives answers.
//
// A device does this once; repeated draws of one person's answer would undo the protection.
import { codeAnswers, encode } from "../src/codec.js";
import { secureBits } from "../src/bits.js";
import { readPublished } from "../src/published.js";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const published = await readPublished(new Uint8Array(Buffer.concat(chunks)));
const [answers, times] = process.argv.slice(2).map((text) => JSON.parse(text));
const records = Buffer.alloc(times * published.recordSize);
const codes = codeAnswers(published, answers);
for (let turn = 0; turn < times; turn++) records.set(encode(published, codes, secureBits), turn * published.recordSize);
process.stdout.write(records);
