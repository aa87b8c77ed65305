/**
 * `npm run migration`: exit code 1 when the tables of schema.ts are not what the migrations make.
 * `npm run migration <name>`: writes the migration that brings them together. What drizzle cannot say (triggers, functions, partitions, rows) is
 * added to that file by hand.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';

type Snapshot = ReturnType<typeof generateDrizzleJson>;

interface Journal {
  readonly version: string;
  readonly dialect: string;
  readonly entries: Array<{ idx: number; version: string; when: number; tag: string; breakpoints: boolean }>;
}

const server = new URL('../../server/', import.meta.url).pathname;
const meta = join(server, 'migrations/meta');
const readJson = (name: string): unknown => JSON.parse(readFileSync(join(meta, name), 'utf8'));
const writeJson = (name: string, value: unknown): void =>
  writeFileSync(join(meta, name), `${JSON.stringify(value, undefined, 2)}\n`);

/** Tables of every schema.ts, by file and name, in one order on every machine. */
async function tables(): Promise<Record<string, unknown>> {
  const files = readdirSync(server, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(^|\/)schema\.ts$/.test(path) && !path.includes('node_modules'))
    .toSorted();
  const all: Record<string, unknown> = {};
  for (const file of files) {
    const module = (await import(join(server, file))) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) all[`${file} ${name}`] = value;
  }
  return all;
}

function write(name: string, statements: readonly string[], snapshot: Snapshot): string {
  const journal = readJson('_journal.json') as Journal;
  const idx = journal.entries.length;
  const tag = `${String(idx).padStart(4, '0')}_${name}`;
  writeFileSync(
    join(server, 'migrations', `${tag}.sql`),
    `${statements.join('\n--> statement-breakpoint\n')}\n`,
  );
  journal.entries.push({ idx, version: journal.version, when: Date.now(), tag, breakpoints: true });
  writeJson('_journal.json', journal);
  writeJson('snapshot.json', snapshot);
  return tag;
}

const name = process.argv[2];
const before = readJson('snapshot.json') as Snapshot;
const after = generateDrizzleJson(await tables(), before.id);
const statements = await generateMigration(before, after);
if (statements.length === 0) {
  console.log('schema.ts and the migrations agree');
} else if (name === undefined) {
  console.error(
    `schema.ts says what no migration does:\n${statements.join('\n')}\nwrite it with: npm run migration <name>`,
  );
  process.exitCode = 1;
} else {
  console.log(`wrote server/migrations/${write(name, statements, after)}.sql`);
}
