/**
 * Builds of the released daemon that take layers of earlier builds: their own team's alone, and none that an
 * older secret, file or variable has made.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import {
  appTree,
  BUILD_MS,
  built,
  removeImagesAfterAll,
  repository,
  shown,
  startBuildMachine,
  type BuildMachine,
} from '../../test/setup/runner/build-stories.ts';
import { useBundle } from '../../test/setup/runner/stories.ts';
import { sharedByFile } from '../../test/setup/runner/when-done.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { BuildOffer } from '../control-plane/wire.ts';

const bundle = useBundle();
removeImagesAfterAll();
const there = (await has('podman')) && (await has('git'));

const STEPS = 'FROM scratch\nCOPY busybox /bin/busybox\nCOPY busybox /bin/sh\n';
const RANDOM = '/bin/busybox head -c 16 /dev/urandom | /bin/busybox md5sum';
/** Steps after a variable that is another one in each build show what the steps before have left. */
const SHOWN = `${STEPS}RUN ${RANDOM} >/early
COPY index.html /index.html
RUN ${RANDOM} >/late
ARG AT
RUN echo "at $AT early $(/bin/busybox cat /early) late $(/bin/busybox cat /late)"
`;

/** Commits the files and builds them; returns what the build has said. */
async function outputOf(
  { cp }: BuildMachine,
  files: Parameters<typeof appTree>[0],
  offer: Partial<BuildOffer> = {},
): Promise<string> {
  const { source } = await repository(await appTree(files));
  const build = await built(cp, { source, ...offer });
  const output = build.output.toString();
  expect(build.report?.exitCode, output).toBe(0);
  return output;
}

const valuesIn = (output: string): { early: string | undefined; late: string | undefined } => {
  const [, early, late] = /^at \S+ early ([0-9a-f]{32}) .*late ([0-9a-f]{32})/m.exec(output) ?? [];
  return { early, late };
};

/** Lists by name all images that are in the store of a team. */
function namesIn({ home }: BuildMachine, team: string): string[] {
  const graph = join(home.dataDir, 'stores', team, 'graph');
  const folder = readdirSync(graph).find((name) => /^(?:overlay|vfs)-images$/.test(name)) ?? '';
  const images = JSON.parse(readFileSync(join(graph, folder, 'images.json'), 'utf8')) as {
    names?: string[];
  }[];
  expect(images.length).toBeGreaterThan(0);
  return images.flatMap(({ names = [] }) => names);
}

describe.runIf(there)('layers of earlier builds', { timeout: 400_000 }, () => {
  const machine = sharedByFile(async () => await startBuildMachine(bundle()));

  it('are taken for the steps before the first change, by builds of the same team alone', async () => {
    const on = shown(machine());
    const build = async (team: string, at: string, files: Parameters<typeof appTree>[0] = {}) =>
      valuesIn(await outputOf(on, { Dockerfile: SHOWN, ...files }, { teamId: team, variables: { AT: at } }));
    const first = await build('team_a', '1');
    expect(first.early).toBeDefined();
    expect(await build('team_a', '2')).toEqual(first);
    const changed = await build('team_a', '3', { 'index.html': 'changed\n' });
    expect(changed.early).toBe(first.early);
    expect(changed.late).toMatch(/^[0-9a-f]{32}$/);
    expect(changed.late).not.toBe(first.late);
    const other = await build('team_b', '1');
    expect(other.early).toMatch(/^[0-9a-f]{32}$/);
    expect([first.early, changed.late]).not.toContain(other.early);
    expect(other.late).not.toBe(first.late);
    // No image of a build that has ended has a name.
    for (const team of ['team_a', 'team_b']) expect(namesIn(on, team)).toEqual([]);
  });

  it('are taken from a build that failed, too', async () => {
    const on = shown(machine());
    const { source } = await repository(await appTree({ Dockerfile: `${SHOWN}RUN /bin/busybox false\n` }));
    const offer = { teamId: 'team_failed', variables: { AT: '1' } };
    const failed = await built(on.cp, { source, ...offer });
    expect(failed.report?.exitCode, failed.output.toString()).toBe(1);
    const fixed = await outputOf(on, { Dockerfile: SHOWN }, { ...offer, variables: { AT: '2' } });
    const before = valuesIn(failed.output.toString());
    expect(before.early).toBeDefined();
    expect(valuesIn(fixed)).toEqual(before);
  });

  it.each([
    ['secret', 'RUN --mount=type=secret,id=KEY echo "seen $(/bin/busybox md5sum </run/secrets/KEY)"'],
    ['mounted file', 'RUN --mount=type=bind,source=index.html,target=/f echo "seen $(/bin/busybox cat /f)"'],
    ['variable of a stage below', 'ARG V\nENV W=$V\nFROM base\nRUN echo "seen $W"'],
    ['variable of a folder', 'ARG V\nWORKDIR /w$V\nFROM base\nRUN echo "seen $(/bin/busybox ls -d /w*)"'],
  ])('are not taken where another %s would not be noticed', async (name, step) => {
    const on = shown(machine());
    const Dockerfile = `${STEPS.replace('scratch', 'scratch AS base')}${step}\n`;
    const seen = async (value: string) =>
      await outputOf(
        on,
        { Dockerfile, 'index.html': value },
        {
          teamId: `team_${name.replaceAll(' ', '_')}`,
          variables: { V: value },
          secrets: { KEY: `key-${value}` },
        },
      );
    const lineOf = (output: string) => /^seen .+$/m.exec(output)?.[0];
    const [first, second] = [await seen('first'), await seen('second')];
    expect(lineOf(first)).toBeDefined();
    expect(lineOf(second), second).toBeDefined();
    expect(lineOf(second)).not.toBe(lineOf(first));
  });
});

describe.runIf(there)('layers beyond the limit of all stores', { timeout: 400_000 }, () => {
  it('go with the store of the only team, and its next build begins anew', async () => {
    const on = shown(await startBuildMachine(bundle(), '--max-store-mb', '1'));
    const build = async () =>
      valuesIn(await outputOf(on, { Dockerfile: SHOWN }, { teamId: 'team_a', variables: { AT: '1' } }));
    const first = await build();
    const store = join(on.home.dataDir, 'stores', 'team_a');
    await waitFor('the end of the store', () => !existsSync(store), { withinMs: BUILD_MS });
    const second = await build();
    expect(second.early).toMatch(/^[0-9a-f]{32}$/);
    expect(second.early).not.toBe(first.early);
  });
});
