// Randomise the same answer again and again, for an audit: node draw.js VALUE TIMES < published.json > records
//
// VALUE is a code of the survey's one block.
//
// A device does this once; repeated draws of one person's answer would undo the protection.
import { encode } from "../src/codec.js";
import { secureBits } from "../src/bits.js";
import { readPublished } from "../src/published.js";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const published = await readPublished(new Uint8Array(Buffer.concat(chunks)));
const [value, times] = process.argv.slice(2).map(Number);
const records = Buffer.alloc(times * published.recordSize);
// The last question is the fastest.
const codes = [];
let rest = value;
for (const place of published.fields[0].places.toReversed()) {
  codes[place] = rest % published.attributes[place].k;
  rest = Math.floor(rest / published.attributes[place].k);
}
for (let turn = 0; turn < times; turn++) records.set(encode(published, codes, secureBits), turn * published.recordSize);
process.stdout.write(records);
