import { describe, expect, it } from 'vitest';
import { fileName } from './save-file.ts';

describe('fileName()', () => {
  it('is the end of the address, and says of an archive that it is one', () => {
    const archive = new Uint8Array(512);
    archive.set(new TextEncoder().encode('ustar'), 257);
    expect(fileName('/teams/{teamId}/compliance/packages/{packageId}/export', archive)).toBe('export.tar');
    expect(fileName('/teams/{teamId}/costs/export.json', new Uint8Array(9))).toBe('export.json');
    expect(fileName('/teams/{teamId}/export', new Uint8Array(9))).toBe('export');
  });
});
