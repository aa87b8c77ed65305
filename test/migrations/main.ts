/**
 * `npm run migration` ends with 1 when the tables of schema.ts are not what the migrations make, and `npm run
 * migration expand_<name>` writes the migration that brings them together. What drizzle cannot say
 * (triggers, functions, partitions, rows) is added to that file by hand. A change that takes away what the
 * version before needs is a `contract_<name>`, one release later. Each migration is frozen by its hash in the
 * journal when the next one is written: databases have applied it.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';

type Snapshot = ReturnType<typeof generateDrizzleJson>;

interface Journal {
  readonly version: string;
  readonly dialect: string;
  readonly entries: Entry[];
}

interface Entry {
  readonly idx: number;
  readonly version: string;
  readonly when: number;
  readonly tag: string;
  readonly breakpoints: boolean;
  /** It is absent from the newest, which may still be changed. */
  readonly hash?: string;
}

const hashOf = ({ tag }: Entry): string =>
  createHash('sha256')
    .update(readFileSync(join(server, 'migrations', `${tag}.sql`), 'utf8'))
    .digest('hex');

const server = new URL('../../server/', import.meta.url).pathname;
const meta = join(server, 'migrations/meta');
const readJson = (name: string): unknown => JSON.parse(readFileSync(join(meta, name), 'utf8'));
const writeJson = (name: string, value: unknown): void =>
  writeFileSync(join(meta, name), `${JSON.stringify(value, undefined, 2)}\n`);

/** Reads the tables of every schema.ts, by file and name, in one order on every machine. */
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
  const entries = journal.entries.map((entry) => ({ ...entry, hash: hashOf(entry) }));
  const idx = entries.length;
  const tag = `${String(idx).padStart(4, '0')}_${name}`;
  writeFileSync(
    join(server, 'migrations', `${tag}.sql`),
    `${statements.join('\n--> statement-breakpoint\n')}\n`,
  );
  const entry = { idx, version: journal.version, when: Date.now(), tag, breakpoints: true };
  writeJson('_journal.json', { ...journal, entries: [...entries, entry] });
  writeJson('snapshot.json', snapshot);
  return tag;
}

const name = process.argv[2];
if (name !== undefined && !/^(expand|contract)_[a-z0-9_]+$/.test(name)) {
  console.error(`the name of a migration begins with expand_ or contract_, and "${name}" does not`);
  process.exit(2);
}
const changed = (readJson('_journal.json') as Journal).entries.filter(
  (entry) => entry.hash !== undefined && entry.hash !== hashOf(entry),
);
if (changed.length > 0) {
  const tags = changed.map(({ tag }) => tag).join(', ');
  console.error(
    `databases have applied ${tags} as it was: undo the change, and write what is new as a migration of its own`,
  );
  process.exit(1);
}
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
