import { describe, expect, it } from 'vitest';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { createVersionPolicy } from './version-policy.ts';

describe('version policy', () => {
  it('2.14 says once that another version is recommended, and goes on taking work', () => {
    const log = collectedLog();
    const policy = createVersionPolicy('0.10.0', log);
    for (let beat = 0; beat < 3; beat += 1)
      policy.update({ upgradeRecommended: true, recommendedVersion: '0.11.0' });
    expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'warn svc-runner 0.10.0 still works here; 0.11.0 is recommended, upgrade when it suits',
    ]);
    expect(policy.reasons()).toEqual([]);
  });

  it('2.14 says once that it is too old, why in each poll, and when it no longer is', () => {
    const log = collectedLog();
    const policy = createVersionPolicy('0.10.0', log);
    for (let beat = 0; beat < 3; beat += 1)
      policy.update({ versionTooOld: true, minVersion: '0.12.0', upgradeRecommended: true });
    expect(policy.reasons()).toEqual([
      'version: svc-runner 0.10.0 is below 0.12.0 that is given work; upgrade svc-runner',
    ]);
    policy.update({});
    expect(policy.reasons()).toEqual([]);
    expect(log.lines.map(({ level }) => level)).toEqual(['error', 'info']);
  });
});
