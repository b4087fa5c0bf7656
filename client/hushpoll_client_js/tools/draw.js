// Randomise the same answer again and again, for an audit: node draw.js VALUE TIMES < published.json > records
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
for (let turn = 0; turn < times; turn++) records.set(encode(published, [value], secureBits), turn * published.recordSize);
process.stdout.write(records);
