/** Stories of the whole daemon as a process, against a control plane that keeps the protocol and breaks it where a story needs it. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildBundle, journalEvents, makeHome, startFakeDaemon, untilReported, type Bundle } from './testing/daemon-process.ts';
import { startFakeControlPlane, type FakeControlPlane } from './testing/fake-control-plane.ts';
import { script } from './testing/fake-executor.ts';
import { waitFor } from './testing/wait-for.ts';

let bundle: Bundle;
beforeAll(async () => {
  bundle = await buildBundle();
});

async function plane(): Promise<FakeControlPlane> {
  const started = await startFakeControlPlane();
  onTestFinished(async () => await started.close());
  return started;
}

describe('daemon', () => {
  it('takes a run, streams its output, reports it, and drains on SIGTERM', async () => {
    const cp = await plane();
    const home = makeHome(cp);
    const daemon = startFakeDaemon(bundle, home);
    const run = cp.submit({ command: script({ out: 'one\n' }, { err: 'two\n' }, { exit: 3 }) });
    await untilReported(cp, run.id);
    expect(run.report).toMatchObject({ reason: 'exit', exitCode: 3 });
    expect(run.chunks).toEqual([{ stream: 'stdout', text: 'one\n' }, { stream: 'stderr', text: 'two\n' }]);
    expect(run.complete).toBe(true);
    await waitFor('the journal', () => journalEvents(home, run.id).at(-1) === 'reported');
    expect(journalEvents(home, run.id)).toEqual(['offered', 'accepted', 'started', 'ended', 'reported']);
    daemon.kill('SIGTERM');
    expect(await daemon.exited).toBe(0);
  });
});
