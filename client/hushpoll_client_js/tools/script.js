/**
 * Bundle the public names for a page without a bundler: `node tools/script.js [FOLDER]`, by default into `script`.
 *
 * A page loads the file by a script tag and finds the names in `hushpoll`, those for SurveyJS in `hushpoll.surveyjs`. With the integrity hash that is
 * kept beside the file, a browser runs these bytes and no others.
 */

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

import { buildSync } from "esbuild";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const NAMES = 'export * from "./src/index.js"; export * as surveyjs from "./src/surveyjs.js";';

const { outputFiles } = buildSync({
  absWorkingDir: PACKAGE,
  stdin: { contents: NAMES, resolveDir: PACKAGE },
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "hushpoll",
  target: "es2022",
  charset: "utf8",
  // The licence of a package that is bundled stays with it.
  legalComments: "eof",
  write: false,
});
const body = /** @type {import("esbuild").OutputFile} */ (outputFiles[0]).contents;
const integrity = `sha384-${createHash("sha384").update(body).digest("base64")}`;
const folder = argv[2] ?? join(PACKAGE, "script");
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "hushpoll.js"), body);
writeFileSync(join(folder, "integrity.txt"), `${integrity}\n`);
