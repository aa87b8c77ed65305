/**
 * The abuse suite runs every case of sandbox-abuse/cases.ts on each executor that this machine has, with a
 * real engine and real namespaces.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { expectTableInDocs } from '../../test/setup/runner/abuse.ts';
import { createBench, type Bench, type Kind } from '../../test/setup/runner/sandbox-abuse/bench.ts';
import { specOf } from '../work/run-spec.ts';
import { ABUSE_CASES } from '../../test/setup/runner/sandbox-abuse/cases.ts';
import { detectExecutor } from './detect.ts';
import { RUNNER_ID } from '../../test/setup/runner/executor-fixtures.ts';
import { sharedDir } from '../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

/**
 * Time limit of one case, with the check of the host and the next task; it takes two seconds on an idle
 * machine.
 */
const CASE_MS = 90_000;

const KINDS: { kind: Kind; there: boolean }[] = [
  { kind: 'podman', there: await has('podman') },
  { kind: 'namespaces', there: await has('namespaces') },
];

describe.each(KINDS)('abuse of $kind', ({ kind, there }) => {
  let bench: Bench;
  const dataDir = sharedDir();

  beforeAll(async () => {
    if (!there) return;
    const executor = await detectExecutor({
      wanted: kind,
      dataDir: dataDir(),
      runnerId: RUNNER_ID,
      log: (message, fields) => console.warn(message, fields),
    });
    bench = await createBench({ kind, executor, dataDir: dataDir(), runnerId: RUNNER_ID });
  });
  afterEach(async () => {
    if (there) await bench.endAll();
  });
  afterAll(async () => {
    if (!there) return;
    await bench.close();
    await bench.executor.reap(() => false);
  });

  for (const { abuse, held, act, x64Only } of ABUSE_CASES) {
    if (act === undefined) continue;
    const where = x64Only === true && process.arch !== 'x64' ? ' (skipped: its program is of x86-64)' : '';
    it.runIf(there && where === '')(
      `${abuse} → ${held}${where}`,
      async () => {
        await act(bench);
        await waitFor('a clean host', async () => await bench.leftovers(), {
          holds: (left) => left.length === 0,
        });
        expect(await bench.run('echo well')).toMatchObject({ reason: 'exit', exitCode: 0, stdout: 'well\n' });
      },
      CASE_MS,
    );
  }
});

describe('work that asks for a container', () => {
  it('is refused by a runner that works with namespaces', () => {
    const offer = { id: 'run_1', leaseId: 'lea_1', epoch: 1, isolation: 'container' } as const;
    const refuse = () =>
      specOf(offer, { runnerId: 'rnr_1', executor: { name: 'namespaces', isolation: 'namespaces' } });
    expect(refuse).toThrow(
      'isolation is "container", this runner\'s executor namespaces offers "namespaces"',
    );
  });
});

expectTableInDocs(
  'the cases',
  ['what a task tries', 'what holds in a container', 'in namespaces'],
  ABUSE_CASES.map(({ abuse, held, namespaces = 'held' }) => [abuse, held, namespaces]),
);
