/**
 * This file is the abuse suite of git: it runs every case of build-abuse/git-cases.ts in the containment of
 * this machine, as a machine of the service's pool does.
 */
import { describe } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { expectTableInDocs } from '../../test/setup/runner/abuse.ts';
import { GIT_ABUSE_CASES } from '../../test/setup/runner/build-abuse/git-cases.ts';
import { runCases } from '../../test/setup/runner/build-abuse/run-cases.ts';

const CASE_MS = 300_000;
const there = (await has('podman')) && (await has('git'));

describe.runIf(there)('abuse of git', () => {
  runCases(GIT_ABUSE_CASES, CASE_MS);
});

expectTableInDocs(
  'the cases of git',
  ['what a repository tries', 'what holds on a machine of the service’s pool'],
  GIT_ABUSE_CASES.map(({ abuse, held }) => [abuse, held]),
);
