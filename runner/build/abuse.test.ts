/**
 * The abuse suite of builds: runs every case of build-abuse/cases.ts with the engine of this machine, and
 * checks what is refused where builds cannot be contained.
 */
import { describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { expectTableInDocs } from '../../test/setup/runner/abuse.ts';
import { BUILD_ABUSE_CASES } from '../../test/setup/runner/build-abuse/cases.ts';
import { runCases } from '../../test/setup/runner/build-abuse/run-cases.ts';
import { admit, admitBuildpack } from './builder.ts';
import { containmentFinding } from '../doctor/checks/executors.ts';
import { judge } from './engine-floor.ts';
import { imageArgs } from './image.ts';

/** Time limit of one case; a case takes some ten seconds on an idle machine. */
const CASE_MS = 600_000;
const there = await has('podman');

describe.runIf(there)('abuse of builds', () => {
  runCases(BUILD_ABUSE_CASES, CASE_MS);
});

describe('what cannot be contained', () => {
  const loose = {
    contained: false as const,
    why: 'docker builds in its own daemon',
    engine: 'docker 24.0.1',
  };

  it('is refused by a machine that builds for many teams, unless its operator allows it, and said elsewhere', () => {
    expect(() => admit(loose, true, false)).toThrow(
      'builds are not contained on this machine (docker builds in its own daemon; docker 24.0.1), and a machine that builds for many teams refuses them',
    );
    for (const [shared, allowed] of [
      [true, true],
      [false, false],
    ] as const)
      expect(admit(loose, shared, allowed)).toContain('warning: builds are not contained on this machine');
    expect(() => admitBuildpack(true, false)).toThrow('add a Dockerfile');
    expect(() => admitBuildpack(false, false)).not.toThrow();
  });

  it('is told by the doctor with what to do about it', () => {
    const flaws = 'upgrade docker to 25.0.2 or newer';
    expect(containmentFinding('docker', { ...loose, flaws })).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('builds are not contained: docker builds in its own daemon') as string,
      advice: expect.stringContaining(flaws) as string,
    });
  });

  it.each([
    ['podman', '4.3.1', true],
    ['podman', '5.3.1', true],
    ['podman', '5.3.2', false],
    ['podman', '5.10.0', false],
    ['podman', '6.0', false],
    ['podman', 'unknown', true],
    ['docker', '24.0.9', true],
    ['docker', '25.0.2', false],
  ] as const)('knows whether %s %s has holes that are known: %s', (name, version, below) => {
    expect(judge(name, version).belowFloor !== undefined).toBe(below);
  });

  it('is never asked of docker: no host network, no privileges, no entitlements, no parallel stages', () => {
    const engine = {
      name: 'docker' as const,
      program: '/usr/bin/docker',
      timeouts: {} as never,
      processesPerUser: 1,
    };
    const args = imageArgs(engine, {
      secrets: [{ name: 'own', file: '/s' }],
      variables: { A: '--network=host' },
      dockerfile: '/clone/Dockerfile',
      folder: '/clone',
      tag: 't',
      labels: {},
      authFlags: [],
      limits: { memoryMb: 64, cpus: 1 },
    });
    expect(
      args.filter((arg) => /^--(?:network|privileged|allow|jobs|security-opt|volume|device|ssh)/.test(arg)),
    ).toEqual([]);
    expect(args).toContain('--memory=64m');
  });
});

expectTableInDocs(
  'the cases',
  ['what a Dockerfile tries', 'what holds with podman, contained', 'with docker'],
  BUILD_ABUSE_CASES.map(({ abuse, held, docker }) => [abuse, held, docker]),
);
