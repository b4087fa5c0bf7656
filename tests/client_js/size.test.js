import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const sdk = new URL("../../client/hushpoll_client_js/", import.meta.url);
const { buildSync } = createRequire(new URL("package.json", sdk))("esbuild");

/** Bytes of what a page loads at once with a module, without the parts that load where a survey needs them. */
const minified = (module) => {
  const { metafile } = buildSync({
    absWorkingDir: fileURLToPath(sdk),
    entryPoints: [`src/${module}`],
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    outdir: "size",
    metafile: true,
    write: false,
  });
  const loaded = new Set([Object.keys(metafile.outputs).find((path) => metafile.outputs[path].entryPoint === `src/${module}`)]);
  for (const path of loaded) {
    for (const { kind, path: imported } of metafile.outputs[path].imports) if (kind === "import-statement") loaded.add(imported);
  }
  const sum = (paths) => paths.reduce((bytes, path) => bytes + metafile.outputs[path].bytes, 0);
  return { files: loaded.size, bytes: sum([...loaded]), later: sum(Object.keys(metafile.outputs).filter((path) => !loaded.has(path))) };
};

test("what a page loads to answer any survey is under 24 kB minified", () => {
  const { files, bytes, later } = minified("client.js");
  console.log(`core: ${bytes} bytes; parts for some surveys: ${later} bytes; core, preview and words: ${minified("index.js").bytes} bytes`);
  assert.ok(later > 0);
  assert.ok(bytes < 24_000, `${bytes} bytes`);
  // A part that imports a module of the core beside core.js would make one more.
  assert.equal(files, 2);
});
