import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const { buildSync } = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url))("esbuild");

const minified = (module) => {
  const entry = fileURLToPath(new URL(`../../client/hushpoll_client_js/src/${module}`, import.meta.url));
  return buildSync({ entryPoints: [entry], bundle: true, minify: true, format: "esm", write: false }).outputFiles[0].contents.length;
};

test("what a page loads to answer a survey is under 24 kB minified", () => {
  const size = minified("client.js");
  console.log(`core: ${size} bytes; with the preview and its words: ${minified("index.js")} bytes`);
  assert.ok(size < 24_000, `${size} bytes`);
});
