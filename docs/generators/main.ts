/**
 * Writes docs/reference/ from what the programs declare. `--check`: says what is stale, writes nothing. Run
 * behind the contracts' generators.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referencePages } from './pages.ts';

const FOLDER = fileURLToPath(new URL('../reference', import.meta.url));

function current(): ReadonlyMap<string, string> {
  mkdirSync(FOLDER, { recursive: true });
  return new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]));
}

const pages = await referencePages();
const before = current();
const stale = [
  ...[...pages].filter(([name, text]) => before.get(name) !== text).map(([name]) => name),
  ...[...before.keys()].filter((name) => !pages.has(name)),
].sort();
if (process.argv.includes('--check')) {
  for (const name of stale)
    console.error(`docs/reference/${name} is stale; run "npm run generate" and commit`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const name of before.keys()) if (!pages.has(name)) rmSync(join(FOLDER, name));
  for (const [name, text] of pages) writeFileSync(join(FOLDER, name), text);
  console.log(`docs/reference: ${pages.size} pages, ${stale.length} changed`);
}
