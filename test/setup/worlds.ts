/**
 * Makes the database that tests copy, and removes what the shared servers of worker processes leave: they
 * live as long as the processes, which end without a word.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { dropDatabases, makeTemplate } from './database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Names of the databases and data folders of shared servers begin with it. */
    worldPrefix: string;
  }
}

const CACHE = new URL('../../node_modules/.cache', import.meta.url).pathname;
const prefix = `svc_world_${randomBytes(4).toString('hex')}`;

export async function setup(project: TestProject): Promise<void> {
  project.provide('worldPrefix', prefix);
  // Inherited by the workers, which share what is made under this name, and write their processor times
  // there.
  process.env['SVC_TEST_RUN'] ??= prefix;
  process.env['SVC_TEST_TIMES'] ??= join(tmpdir(), `${prefix}_times.jsonl`);
  await makeTemplate(prefix);
}

export async function teardown(): Promise<void> {
  await dropDatabases(prefix);
  for (const folder of readdirSync(tmpdir()))
    if (folder.startsWith(prefix)) rmSync(join(tmpdir(), folder), { recursive: true, force: true });
  rmSync(join(CACHE, `${prefix}_runner`), { recursive: true, force: true });
}
