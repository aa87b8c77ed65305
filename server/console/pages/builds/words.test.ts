import { describe, expect, it } from 'vitest';
import type { Build } from '@svc/sdk';
import { levelOf, linkOf, stepsOf, tookMs } from './words.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 20, 12, 0, second)).toISOString();
const build = (more: Partial<Build>): Build => ({
  id: 'bld_1',
  environmentId: 'env_1',
  teamId: 'team_1',
  number: 1,
  state: 'queued',
  phases: [],
  trigger: 'manual',
  branch: 'main',
  buildType: 'auto',
  priority: 0,
  maxAttempts: 3,
  attempt: 0,
  needsDecision: false,
  cancelRequested: false,
  createdAt: at(0),
  logBytes: 0,
  logMissingBytes: 0,
  logMismatch: false,
  ...more,
});
const now = Date.parse(at(40));
const shown = (of: Build, deploys = true): string[] =>
  stepsOf(of, now, deploys).map(
    ({ name, status, fromMs, toMs }) =>
      `${name} ${status}${fromMs === undefined || toMs === undefined ? '' : ` ${(toMs - fromMs) / 1_000}`}`,
  );

describe('linkOf()', () => {
  it('follows the web and nothing else', () => {
    expect(linkOf('https://shop.example/a?b')).toBe('https://shop.example/a?b');
    expect(linkOf('http://10.0.0.7:8080')).toBe('http://10.0.0.7:8080');
    for (const address of [
      'javascript:alert(1)',
      'data:text/html,x',
      '10.0.0.7:8080',
      'http:/x',
      'https://',
      ' ',
    ])
      expect(linkOf(address), address).toBeUndefined();
  });
});

describe('stepsOf()', () => {
  it('shows what is to come of one that waits', () => {
    expect(shown(build({}))).toEqual([
      'Waiting for a runner running 40',
      'Cloning ahead',
      'Building ahead',
      'Publishing ahead',
      'Deploying ahead',
    ]);
    expect(shown(build({ trigger: 'rollback' }))).toEqual([
      'Waiting for a runner running 40',
      'Deploying ahead',
    ]);
  });

  it('lets the present phase run', () => {
    const running = build({
      state: 'running',
      phase: 'building',
      startedAt: at(5),
      phases: [
        { phase: 'cloning', startedAt: at(5), finishedAt: at(9) },
        { phase: 'building', startedAt: at(9) },
      ],
    });
    expect(shown(running, false)).toEqual([
      'Waiting for a runner waited 5',
      'Cloning done 4',
      'Building running 31',
      'Publishing ahead',
    ]);
    expect(tookMs(running, now)).toBe(35_000);
  });

  it('counts no work while a build that lost its runner waits for another', () => {
    expect(tookMs(build({ state: 'queued', startedAt: at(5) }), now)).toBeUndefined();
  });

  it('marks the phase that failed and names none that will not come', () => {
    const failed = build({
      state: 'failed',
      phase: 'cloning',
      startedAt: at(5),
      finishedAt: at(8),
      phases: [{ phase: 'cloning', startedAt: at(5), finishedAt: at(8) }],
    });
    expect(shown(failed)).toEqual(['Waiting for a runner waited 5', 'Cloning failed 3']);
    expect(tookMs(failed, now)).toBe(3_000);
  });
});

describe('levelOf()', () => {
  it.each([
    ['==> cloning: cloning https://git.example.com/acme/shop, main', 1],
    ['==> deploying: deploying shop as container', 1],
    ['==> step 2 of 3: npm test', 2],
    ['==> at commit 4be1c9d', undefined],
    ['==> testing: mine', undefined],
  ] as const)('%s', (line, level) => expect(levelOf(line)).toBe(level));
});
