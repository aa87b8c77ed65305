import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { digestOf } from './digest.ts';

describe('digestOf()', () => {
  const content = { projectId: 'prj_1', version: '1.0', artifacts: ['sha256:b', 'sha256:a'] };

  it('is the SHA-256 of the canonical JSON that the contract describes', () => {
    const text = '{"artifacts":["sha256:a","sha256:b"],"projectId":"prj_1","version":"1.0"}';
    expect(digestOf(content)).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
  });

  it('does not depend on the order of artifacts, and differs with each part', () => {
    const others = [
      { ...content, artifacts: ['sha256:a', 'sha256:b'] },
      { ...content, artifacts: ['sha256:a'] },
      { ...content, version: '1.1' },
      { ...content, projectId: 'prj_2' },
    ];
    expect(new Set([content, ...others].map(digestOf)).size).toBe(others.length);
  });
});
