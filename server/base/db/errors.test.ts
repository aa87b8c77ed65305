import { afterEach, expect, it, vi } from 'vitest';
import { diskFull, isConnectionError, isRetryable, lastDiskFull, mapDatabaseError } from './errors.ts';

const coded = (code: string, more: object = {}): Error =>
  Object.assign(new Error(`said ${code}`), { code, ...more });

afterEach(() => vi.restoreAllMocks());

it.each([
  ['53100', 'the disk of the database is full'],
  ['ENOSPC', 'the disk of the server is full'],
  ['EDQUOT', 'the disk of the server is full'],
])('calls %s a full disk, and remembers it for a minute', (code, said) => {
  // Long ago, so that no server of this process takes itself for full.
  const now = vi.spyOn(performance, 'now').mockReturnValue(-1_000_000);
  const error = new Error('a statement failed', { cause: coded(code) });
  expect(mapDatabaseError(error)).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining(said),
  });
  expect(diskFull(error)).toContain(said);
  expect(isRetryable(error)).toBe(true);
  now.mockReturnValue(-941_000);
  expect(lastDiskFull()).toContain(said);
  now.mockReturnValue(-939_000);
  expect(lastDiskFull()).toBeUndefined();
});

it('takes a missing socket for a database that is not there, and no missing file', () => {
  expect(isConnectionError(coded('ENOENT', { syscall: 'connect' }))).toBe(true);
  expect(isConnectionError(coded('ENOENT', { syscall: 'open' }))).toBe(false);
  const missing = coded('ENOENT', { syscall: 'open' });
  expect(mapDatabaseError(missing)).toBe(missing);
  expect(diskFull(coded('constructor'))).toBeUndefined();
});
