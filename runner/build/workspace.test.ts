import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { makeWorkspace, sweepWorkspaces, workspaceOf, type BuildHost } from './workspace.ts';

const NOBODY = 65_534;

/** Root may do everything: from here to the end of the test this process is another user. */
function becomeNobody(): void {
  if (process.geteuid?.() !== 0) return;
  process.seteuid?.(NOBODY);
  onTestFinished(() => process.seteuid?.(0));
}

function makeHost(): BuildHost {
  const dataDir = tempDir();
  if (process.geteuid?.() === 0) chownSync(dataDir, NOBODY, NOBODY);
  return { dataDir, runnerId: 'rnr_test', engine: undefined };
}

/** Makes folders like Go's module cache: without the write bit, and one that cannot even be read. */
function leaveReadOnly(clone: string): void {
  mkdirSync(join(clone, 'mod/closed'), { recursive: true });
  writeFileSync(join(clone, 'mod/closed/a.go'), 'package a');
  chmodSync(join(clone, 'mod/closed'), 0o000);
  chmodSync(join(clone, 'mod'), 0o555);
}

describe('sweepWorkspaces()', () => {
  it('removes folders that were made read-only, and changes the mode of nothing that a link points to', async () => {
    const host = makeHost();
    becomeNobody();
    const workspace = workspaceOf(host, 'bld_1', 1);
    await makeWorkspace(workspace);
    const outside = join(host.dataDir, 'outside');
    mkdirSync(outside, { mode: 0o500 });
    symlinkSync(outside, join(workspace.clone, 'link'));
    leaveReadOnly(workspace.clone);
    expect(await sweepWorkspaces(host, () => false)).toEqual([{ id: 'bld_1', epoch: 1 }]);
    expect(existsSync(workspace.folder)).toBe(false);
    expect(statSync(outside).mode & 0o777).toBe(0o500);
  });

  it.runIf(process.geteuid?.() === 0)('goes on after one that cannot be removed, and says why', async () => {
    const host = makeHost();
    const workspaces = [1, 2, 3].map((epoch) => workspaceOf(host, 'bld_1', epoch));
    const [first, foreign, last] = workspaces;
    if (first === undefined || foreign === undefined || last === undefined)
      throw new Error('three were made');
    mkdirSync(join(host.dataDir, 'builds'));
    chownSync(join(host.dataDir, 'builds'), NOBODY, NOBODY);
    mkdirSync(join(foreign.clone, 'of-root'), { recursive: true });
    writeFileSync(join(foreign.clone, 'of-root/file'), '');
    becomeNobody();
    await makeWorkspace(first);
    await makeWorkspace(last);
    const swept = await sweepWorkspaces(host, () => false);
    expect(swept.sort((one, other) => one.epoch - other.epoch)).toEqual([
      { id: 'bld_1', epoch: 1 },
      { id: 'bld_1', epoch: 2, problem: expect.stringMatching(/EACCES|EPERM/) },
      { id: 'bld_1', epoch: 3 },
    ]);
    expect(workspaces.map(({ folder }) => existsSync(folder))).toEqual([false, true, false]);
  });
});
