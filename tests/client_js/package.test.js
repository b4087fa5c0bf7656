import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launch } from "./browser.js";

const sdk = fileURLToPath(new URL("../../client/hushpoll_client_js/", import.meta.url));
let app, installed;

/** Packs the package of `folder` into the app, as its users get it; the tarball's file. */
function packed(folder, ...options) {
  const pack = ["pack", "--json", "--silent", "--pack-destination", app, ...options];
  const [{ filename }] = JSON.parse(execFileSync("npm", pack, { cwd: folder, encoding: "utf8" }));
  return join(app, filename);
}

/** The folders of all packages that the package of `folder` needs, where `npm ci` has put them. */
function dependencies(folder) {
  const { dependencies: needed = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const folders = Object.keys(needed).map((name) => join(sdk, "node_modules", name));
  return folders.flatMap((one) => [one, ...dependencies(one)]);
}

/** Installs the tarball into an app of its own, with no index: what it needs comes from here, as npm's cache may be empty. */
before(() => {
  app = mkdtempSync(join(tmpdir(), "hushpoll-app-"));
  const needed = [...new Set(dependencies(sdk))].map((folder) => packed(folder, "--ignore-scripts"));
  const tarballs = [packed(sdk), ...needed];
  writeFileSync(join(app, "package.json"), JSON.stringify({ type: "module", private: true }));
  const options = ["--offline", "--no-audit", "--no-fund", "--loglevel=error", "--cache", join(app, "cache")];
  execFileSync("npm", ["install", ...options, ...tarballs], { cwd: app });
  installed = join(app, "node_modules", "hushpoll");
});

after(() => rmSync(app, { recursive: true }));

function run(code) {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { cwd: app, encoding: "utf8" });
  return stdout + stderr;
}

test("the tarball has the public names and no other", () => {
  assert.match(run('import { SurveyClient, preview } from "hushpoll"; console.log(typeof SurveyClient, typeof preview);'), /^function function\n$/);
  assert.match(run('import { attach } from "hushpoll/surveyjs"; console.log(typeof attach);'), /^function\n$/);
  assert.match(run('import { memoryStorage } from "hushpoll/memory_storage"; console.log(typeof memoryStorage());'), /^object\n$/);
  assert.match(run('import { Words } from "hushpoll"; import { SCRIPT } from "hushpoll/words/de"; console.log(new Words(SCRIPT).high(787));'), /^78,7\u00a0%\n$/);
  assert.match(run('import "hushpoll/codec";'), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
});

test("the tarball has its licence", () => {
  const root = fileURLToPath(new URL("../../LICENSE", import.meta.url));
  assert.equal(readFileSync(join(installed, "LICENSE"), "utf8"), readFileSync(root, "utf8"));
});

test("an app in TypeScript gets the types, and is told of a wrong argument", () => {
  const compile = (name, code) => {
    writeFileSync(join(app, name), code);
    const tsc = join(sdk, "node_modules/.bin/tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom", "--types", "", name];
    return spawnSync(tsc, options, { cwd: app, encoding: "utf8" }).stdout;
  };
  // The types that the reference names can be imported, too.
  const types = "Entry, Limits, Options, Perturbed, Preview, Published, Receipt, Storage";
  const named = `import type { ${types} } from "hushpoll";\nexport type Named = [${types}];\n`;
  const head = 'import { inWords, preview, SurveyClient, Words } from "hushpoll";\nimport { SCRIPT } from "hushpoll/words/de";\nimport { attach } from "hushpoll/surveyjs";\n';
  const use = 'const client = new SurveyClient("https://polls.example.org", "work", { maxEpsilon: "6" });\n';
  const good =
    'const words: string = inWords(preview(await client.published(), { age: 44 }));\n' +
    'export const german = preview(await client.published(), undefined, new Words(SCRIPT));\nexport { attach, words };\n';
  assert.equal(compile("good.ts", head + named + use + good), "");
  assert.match(compile("wrong.ts", `${head + use}await client.submit("yes");\nexport { attach, inWords, preview, SCRIPT, Words };\n`), /wrong\.ts.*TS2345/);
});

test("a page loads the script by a tag, and not if one byte of it is another", async (t) => {
  const body = readFileSync(join(installed, "script/hushpoll.js"), "utf8");
  const integrity = readFileSync(join(installed, "script/integrity.txt"), "utf8").trim();
  const browser = await launch();
  t.after(() => browser.close());
  const kind = async (script) => {
    const page = await browser.newPage();
    const headers = { "Access-Control-Allow-Origin": "*", "Content-Type": "text/javascript" };
    await page.route("https://sdk.example/**", (route) => route.fulfill({ body: script, headers }));
    const tag = `<script src="https://sdk.example/hushpoll.js" integrity="${integrity}" crossorigin="anonymous"></script>`;
    await page.route("https://app.example/", (route) => route.fulfill({ body: tag, contentType: "text/html" }));
    await page.goto("https://app.example/");
    return page.evaluate(() => [typeof globalThis.hushpoll?.SurveyClient, typeof globalThis.hushpoll?.surveyjs?.attach]);
  };
  assert.deepEqual(await kind(body), ["function", "function"]);
  assert.deepEqual(await kind(`${body} `), ["undefined", "undefined"]);
});
