/**
 * This file is the abuse suite of git: it runs every case of build-abuse/git-cases.ts in the containment of
 * this machine, as a machine of the service's pool does.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { GIT_ABUSE_CASES, gitAbuseTable } from '../../test/setup/runner/build-abuse/git-cases.ts';
import { runCases } from '../../test/setup/runner/build-abuse/run-cases.ts';

const CASE_MS = 300_000;
const there = (await has('podman')) && (await has('git'));

describe.runIf(there)('abuse of git', () => {
  runCases(GIT_ABUSE_CASES, CASE_MS);
});

describe('docs/sandbox.md', () => {
  it('holds the table of the cases of git', async () => {
    const text = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
    expect(text).toContain(gitAbuseTable());
  });
});
