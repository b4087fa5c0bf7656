// Run the examples: `node examples/run.js` starts a hushpoll server of its own, publishes their surveys, and serves their pages, each
// bundled with its libraries. The command `hushpoll` must be installed, and this package's development tools (`npm ci`).
//
// `--json` prints one line for a program, and then ends when the standard input does.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createListener } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { argv, env, exit, stdin, stdout } from "node:process";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const PAGES = { surveyjs: "app.js", react: "app.jsx", vue: "app.js" };
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript" };
const read = (name) => readFileSync(join(FOLDER, name), "utf8");

const listening = (server, port = 0) =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server.address().port));
  });

/** A port that is free at this moment. */
async function freePort() {
  const listener = createListener();
  const port = await listening(listener);
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

/** Start the hushpoll server; resolves to its address and its first admin token. */
async function startServer(folder) {
  const port = await freePort();
  const tokenFile = join(folder, "admin-token");
  const options = ["serve", "--port", String(port), "--database-url", `sqlite:///${folder}/hushpoll.sqlite`, "--admin-token-file", tokenFile];
  const [program, ...before] = env.HUSHPOLL_PYTHON ? [env.HUSHPOLL_PYTHON, "-m", "hushpoll_client"] : ["hushpoll"];
  const child = spawn(program, [...before, ...options], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  let ended;
  child.once("error", (error) => (ended = `${program} cannot be run (${error.code}): install it with scripts/demo, or pip install hushpoll-server`));
  child.once("exit", (code) => (ended ??= `hushpoll serve ended with exit code ${code}`));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (ended) throw new Error(ended);
    const ready = await fetch(`${url}/ready`).then(({ ok }) => ok, () => false);
    if (ready) return { child, url, token: readFileSync(tokenFile, "utf8").trim() };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function publish({ url, token }, draft, origin) {
  const ask = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const answer = await fetch(`${url}/api/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  await ask("POST", "surveys?allow_weak=true", draft);
  // The pages come from another origin than the server, as an app's pages do.
  await ask("PUT", `surveys/${draft.name}/origins`, { origins: [origin] });
}

/** The pages' files by their paths; each page's script holds the libraries that it uses. */
async function bundled(url) {
  const files = new Map([["/style.css", read("style.css")]]);
  for (const [name, entry] of Object.entries(PAGES)) {
    files.set(`/${name}/`, read(`${name}/index.html`));
    const { outputFiles } = await build({
      entryPoints: [join(FOLDER, name, entry)],
      bundle: true,
      format: "esm",
      target: "es2022",
      jsx: "automatic",
      outdir: join(FOLDER, name),
      write: false,
      logLevel: "error",
      define: {
        "process.env.HUSHPOLL_URL": JSON.stringify(url),
        "process.env.NODE_ENV": '"production"',
        __VUE_OPTIONS_API__: "false",
        __VUE_PROD_DEVTOOLS__: "false",
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
      },
    });
    for (const { path, text } of outputFiles) files.set(`/${name}/${path.slice(path.lastIndexOf("app."))}`, text);
  }
  return files;
}

const folder = mkdtempSync(join(tmpdir(), "hushpoll-examples-"));
let server;
const stop = (code = 0) => {
  // The server's files are removed once it has closed them.
  const remove = () => {
    rmSync(folder, { recursive: true, force: true });
    exit(code);
  };
  if (!server || server.child.exitCode !== null) return remove();
  server.child.once("exit", remove);
  server.child.kill("SIGTERM");
};
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop());

try {
  server = await startServer(folder);
  const files = await bundled(server.url);
  const pages = createServer((request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const body = files.get(path);
    const kind = path.endsWith("/") ? "html" : path.slice(path.lastIndexOf(".") + 1);
    response.writeHead(body === undefined ? 404 : 200, { "Content-Type": `${TYPES[kind] ?? "text/plain"}; charset=utf-8` });
    response.end(body ?? "There is no such page.");
  });
  const origin = `http://127.0.0.1:${await listening(pages)}`;
  for (const draft of [read("habits.json"), read("surveyjs/manifest.json")]) await publish(server, JSON.parse(draft), origin);
  if (argv.includes("--json")) {
    stdout.write(`${JSON.stringify({ origin, server: server.url })}\n`);
    stdin.resume().once("end", () => stop());
  } else {
    stdout.write(Object.keys(PAGES).map((name) => `${name.padEnd(8)}  ${origin}/${name}/\n`).join(""));
    stdout.write(`server    ${server.url}   until Ctrl-C; then everything is deleted\n`);
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  stop(1);
}
