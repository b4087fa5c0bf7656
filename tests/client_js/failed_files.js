// A reporter of node --test: the file of each test that failed, one a line, for tests/run_again.py.
export default async function* failedFiles(source) {
  for await (const { type, data } of source) {
    if (type === "test:fail") yield `${data.file ?? data.name}\n`;
  }
}
