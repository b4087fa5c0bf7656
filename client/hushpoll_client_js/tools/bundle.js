/**
 * Bundle the modules of the hosted survey page: `node tools/bundle.js [FOLDER]`, by default into `dist`.
 *
 * The same sources and the same esbuild give the same bytes on every machine, so everybody can compare what a
 * server sends with what the sources say. `bundle.json` keeps the hashes; a server whose sources have other
 * ones serves the modules themselves.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { argv, stdout } from "node:process";
import { fileURLToPath } from "node:url";

import { buildSync } from "esbuild";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ENTRIES = ["page/main.js", "page/worker.js"];

/**
 * One hash of several files, by their paths: of each "path, NUL, length, NUL, content".
 *
 * @param {Map<string, Uint8Array>} files
 */
function hashOf(files) {
  const hash = createHash("sha256");
  for (const path of [...files.keys()].sort()) {
    const body = /** @type {Uint8Array} */ (files.get(path));
    hash.update(`${path}\0${body.length}\0`).update(body);
  }
  return hash.digest("hex");
}

function sources() {
  const folder = join(PACKAGE, "src");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
  return new Map(names.map((name) => [name.split(sep).join("/"), readFileSync(join(folder, name))]));
}

/**
 * The scripts and their source maps, by path: the page's, in `parts/NAME-HASH.js` the modules that it imports only where a survey needs
 * them, in `parts/chunk-HASH.js` what it shares with those, and the service worker's.
 *
 * @returns {Map<string, Uint8Array>}
 */
function bundled() {
  return new Map(ENTRIES.flatMap(built));
}

/** @param {string} entry @returns {[string, Uint8Array][]} */
function built(entry) {
  const { outputFiles } = buildSync({
    absWorkingDir: PACKAGE,
    entryPoints: [`src/${entry}`],
    outbase: "src",
    outdir: "dist",
    bundle: true,
    splitting: true,
    chunkNames: "parts/[name]-[hash]",
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    sourcemap: "linked",
    // The licence of a package that is bundled stays with it.
    legalComments: "eof",
    write: false,
  });
  return outputFiles.map(({ path, contents }) => [relative(join(PACKAGE, "dist"), path).split(sep).join("/"), contents]);
}

const folder = argv[2] ?? join(PACKAGE, "dist");
const files = bundled();
rmSync(folder, { recursive: true, force: true });
for (const [path, body] of files) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), body);
}
// The digest that `hushpoll page-digest` prints: of the scripts alone, whichever survey's page runs them.
const scripts = new Map([...files].filter(([path]) => path.endsWith(".js")));
const record = { sources: hashOf(sources()), bundle: hashOf(files), scripts: hashOf(scripts) };
const text = `${JSON.stringify(record, null, 2)}\n`;
if (argv[2] === undefined) writeFileSync(join(PACKAGE, "bundle.json"), text);
stdout.write(text);
