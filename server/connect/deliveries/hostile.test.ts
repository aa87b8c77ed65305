/**
 * What whoever connects a repository or sends webhooks may write, and what it costs: pointers, names,
 * commits, large bodies.
 */
import { describe, expect, it } from 'vitest';
import { commitOf } from '../runs/ci-job.ts';
import { mappingProblem } from '../providers/generic/mapping.ts';
import { repositoryKeyOfUrl, repositoryName } from '../providers/repository.ts';
import { payloadOf } from './payload.ts';

const LONG = 255;

function millis(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

describe('a pointer', () => {
  it.each(['/', '~', '/~', '/~1', '~/', '/a/', 'a/', '//~0'])('of many %j is checked at once', (piece) => {
    const pointers = { id: `${piece.repeat(LONG).slice(0, LONG - 1)}~` };
    expect(millis(() => mappingProblem({ pointers }))).toBeLessThan(50);
    expect(mappingProblem({ pointers })).toContain('expected a JSON pointer');
  });

  it.each(['', '/a', '/a/0/b~0c/d~1e', '/'])('%j is one', (id) => {
    expect(mappingProblem({ pointers: { id } })).toBeUndefined();
  });
});

describe('a name of a repository', () => {
  it('is one name however its host is written', () => {
    const key = 'github.com/acme/web';
    for (const host of ['github.com', 'GitHub.com', 'www.github.com', 'github.com:443', 'WWW.github.com:443'])
      expect(repositoryName(host, 'acme/web.git/')?.key).toBe(key);
    expect(repositoryKeyOfUrl('https://www.github.com:443/Acme/web.git')).toBe(key);
    expect(repositoryName('www.git.example.com', 'acme/web')?.key).toBe('www.git.example.com/acme/web');
  });

  it.each(['acme/..', 'acme/%2e%2e', 'acme/%2E.', '%2e/web', './web'])('does not climb: %s', (path) => {
    expect(repositoryName('github.com', path)).toBeUndefined();
  });
});

it('a commit of zeros is none, in whatever length', () => {
  for (const length of [7, 8, 40, 64]) expect(commitOf('0'.repeat(length))).toBeUndefined();
  expect(commitOf('0'.repeat(39) + 'A')).toBe(`${'0'.repeat(39)}a`);
});

describe('a large body of a webhook', () => {
  const room = 5 * 1_048_576;
  it.each(['[', '{"a":', '[[],', '{},'])('of nothing but %j is not taken apart', (piece) => {
    const body = Buffer.from(`[${piece.repeat(Math.floor(room / piece.length))}`);
    expect(millis(() => payloadOf('generic', body))).toBeLessThan(150);
    expect(payloadOf('generic', body)).toMatchObject({ problem: expect.any(String) });
  });

  it('with what real ones hold is read', () => {
    const commits = Array.from({ length: 2_000 }, (_, n) => ({
      id: n,
      message: 'm'.repeat(200),
      added: ['a'],
    }));
    const payload = { commits, commits_url: 'x' };
    expect(payloadOf('generic', Buffer.from(JSON.stringify(payload)))).toEqual({ payload });
  });
});
