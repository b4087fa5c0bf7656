import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
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

test("the page's scripts are at most 40 kB without the parts for some surveys, with maps of every module", (t) => {
  const { folder } = bundle(t);
  const text = (path) => readFileSync(join(folder, path), "utf8");
  const loaded = new Set(["page/main.js"]);
  for (const path of loaded) {
    for (const [, name] of text(path).matchAll(/\bfrom"\.\.?\/(?:parts\/)?([^"]+)"/g)) loaded.add(`parts/${name}`);
  }
  const parts = [...text("page/main.js").matchAll(/\bimport\("\.\.\/parts\/(\w+)-\w+\.js"\)/g)].map(([, name]) => name);
  assert.ok(parts.includes("blocks") && parts.includes("translations"), parts.join());
  for (const path of loaded) assert.ok(path === "page/main.js" || path.startsWith("parts/chunk-"), path);
  assert.ok([...loaded].reduce((bytes, path) => bytes + gzipSync(text(path), { level: 9 }).length, 0) <= MOST_BYTES);
  const scripts = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".js"));
  // What `hushpoll page-digest` follows leads to all of them, so that the digest is that of bundle.json for every survey.
  const reached = new Set(["page/main.js", "page/worker.js"]);
  for (const path of reached) {
    for (const [, name] of text(path).matchAll(/\b(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"'\s]+\.js)["']/g)) reached.add(new URL(name, `x:/${path}`).pathname.slice(1));
  }
  assert.deepEqual([...reached].sort(), scripts.map((path) => path.replaceAll("\\", "/")).sort());
  const mapped = new Set();
  for (const script of scripts) {
    assert.ok(text(script).trimEnd().endsWith(`//# sourceMappingURL=${basename(script)}.map`));
    const { sources, sourcesContent } = JSON.parse(text(`${script}.map`));
    for (const [index, name] of sources.entries()) {
      mapped.add(name);
      assert.equal(sourcesContent[index], readFileSync(new URL(name.replace("../../", ""), sdk), "utf8"), name);
    }
  }
  for (const name of ["page/form.js", "client.js", "blocks.js", "page/worker.js"]) assert.ok(mapped.has(`../../src/${name}`), name);
});
