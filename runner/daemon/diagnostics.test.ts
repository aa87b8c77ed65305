import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collectDiagnostics } from './diagnostics.ts';
import { programsIn } from '../../test/setup/runner/programs.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';

/** Programs that answer `--version` with these scripts. */
function machineWith(programs: Record<string, string>): {
  dir: string;
  find: (name: string) => string | undefined;
} {
  const dir = programsIn(tempDir(), programs);
  return { dir, find: (name) => (Object.hasOwn(programs, name) ? join(dir, name) : undefined) };
}

const look = async (executor: 'podman' | 'docker' | 'namespaces', programs: Record<string, string>) => {
  const { dir, find } = machineWith(programs);
  return await collectDiagnostics({ name: executor }, dir, find);
};

describe('self-diagnostics', () => {
  it('tells the versions of the engine in use and of the deployment platform, and the free disk', async () => {
    const found = await look('docker', {
      podman: 'echo podman version 4.3.1',
      docker: 'echo Docker version 28.2.2, build e6534b4; echo more',
      dokku: 'echo dokku version 0.35.1',
    });
    expect(found).toEqual({
      containerCliVersion: 'Docker version 28.2.2, build e6534b4',
      deployCliVersion: 'dokku version 0.35.1',
      workspaceFreeMb: expect.any(Number) as number,
    });
    expect(found.workspaceFreeMb).toBeGreaterThan(0);
  });

  it('tells of an engine that is installed and not used, and leaves out what is not there', async () => {
    expect(await look('namespaces', { podman: 'echo podman version 4.3.1' })).toMatchObject({
      containerCliVersion: 'podman version 4.3.1',
      deployCliVersion: '',
    });
    expect(await look('namespaces', {})).toMatchObject({ containerCliVersion: '', deployCliVersion: '' });
  });

  it('leaves out a program that fails, and cuts one that talks too much', async () => {
    const found = await look('podman', {
      podman: 'echo broken >&2; exit 125',
      dokku: "head -c 5000 /dev/zero | tr '\\0' x",
    });
    expect(found.containerCliVersion).toBe('');
    expect(found.deployCliVersion).toHaveLength(200);
  });
});
