import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const sdk = new URL("../../client/hushpoll_client_js/", import.meta.url);
const MOST_BYTES = 40_000;

function bundle(t) {
  const folder = mkdtempSync(join(tmpdir(), "hushpoll-bundle-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const record = execFileSync(process.execPath, [fileURLToPath(new URL("tools/bundle.js", sdk)), folder], { cwd: folder, encoding: "utf8" });
  return { folder, record: JSON.parse(record) };
}

test("the bundle of these sources is the one whose hash is committed", (t) => {
  const { record } = bundle(t);
  const committed = JSON.parse(readFileSync(new URL("bundle.json", sdk), "utf8"));
  assert.deepEqual(committed, record, "run scripts/bundle and commit bundle.json");
});

test("the page's script is one of at most 40 kB, with a map of every module in it", (t) => {
  const { folder } = bundle(t);
  const script = readFileSync(join(folder, "page/main.js"), "utf8");
  assert.ok(gzipSync(script, { level: 9 }).length <= MOST_BYTES);
  assert.doesNotMatch(script, /\bimport\b *[{"(]/);
  assert.ok(script.trimEnd().endsWith("//# sourceMappingURL=main.js.map"));
  const { sources, sourcesContent } = JSON.parse(readFileSync(join(folder, "page/main.js.map"), "utf8"));
  assert.ok(sources.includes("../../src/page/form.js") && sources.includes("../../src/client.js"));
  for (const [index, name] of sources.entries()) {
    assert.equal(sourcesContent[index], readFileSync(new URL(name.replace("../../", ""), sdk), "utf8"), name);
  }
});
