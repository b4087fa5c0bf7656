// Randomise the same answer again and again, for an audit: node draw.js VALUE TIMES < published.json > records
//
// VALUE is a code of the survey's one block.
//
// A device does this once; repeated draws of one person's answer would undo the protection.
import { codeAnswers, encode } from "../src/codec.js";
import { secureBits } from "../src/bits.js";
import { readPublished } from "../src/published.js";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const published = await readPublished(new Uint8Array(Buffer.concat(chunks)));
const [value, times] = process.argv.slice(2).map(Number);
const records = Buffer.alloc(times * published.recordSize);
const [{ places, combinations = [] }] = published.fields;
// The codes of a block's questions are in lanes of 16 bits, the last question's lowest.
let lanes = combinations[value] ?? BigInt(value);
const answers = {};
for (const place of places.toReversed()) {
  const { name, domain } = published.attributes[place];
  answers[name] = domain[Number(lanes & 0xffffn)];
  lanes >>= 16n;
}
const codes = codeAnswers(published, answers);
for (let turn = 0; turn < times; turn++) records.set(encode(published, codes, secureBits), turn * published.recordSize);
process.stdout.write(records);
