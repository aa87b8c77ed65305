import { describe, expect, it } from 'vitest';
import { imageOf } from './deployable.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const image = (name: string, uri: string | null = null) => imageOf({ kind: 'image', name, uri });

describe('imageOf()', () => {
  it('is the name in the registry, without the tag that may have moved and without the digest', () => {
    expect(image('web', `registry.example.com:5000/acme/web:1.0@${DIGEST}`)).toBe(
      'registry.example.com:5000/acme/web',
    );
    expect(image('web', 'registry.example.com/acme/web:1.0')).toBe('registry.example.com/acme/web');
    expect(image('127.0.0.1:5000/acme/web')).toBe('127.0.0.1:5000/acme/web');
  });

  it('is not known of what names no registry, of an address of another kind, and of what is no image', () => {
    expect(image('acme/web')).toBeUndefined();
    expect(image('registry.example.com/acme/web', 'https://example.com/web.tar')).toBeUndefined();
    expect(image('registry.example.com/acme/web', 'oci-archive:/etc/passwd')).toBeUndefined();
    expect(image('registry.example.com/--privileged')).toBeUndefined();
    expect(imageOf({ kind: 'file', name: 'registry.example.com/acme/web', uri: null })).toBeUndefined();
  });
});
