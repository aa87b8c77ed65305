import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestParts } from './url.ts';

describe('requestParts()', () => {
  it('encodes each path variable as one segment', () => {
    const operation = { method: 'GET', path: '/a/{x}/b/{y}:verb' } as const;
    expect(requestParts(operation, { x: 'graph:env/1?#', y: 'ä b' }).target).toBe(
      '/a/graph%3Aenv%2F1%3F%23/b/%C3%A4%20b:verb',
    );
    expect(requestParts(operation, { x: 1, y: false }).target).toBe('/a/1/b/false:verb');
  });

  it.each([undefined, null, '', '.', '..', {}, [], ['a']])('refuses %j as a path variable', (x) => {
    expect(() => requestParts({ method: 'GET', path: '/a/{x}' }, { x })).toThrow(TypeError);
  });

  it('keeps every path variable apart from its neighbours', () => {
    const operation = { method: 'GET', path: '/a/{x}/{y}' } as const;
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.string({ unit: 'grapheme', minLength: 1 }),
        (x, y) => {
          fc.pre(![x, y].some((text) => text === '.' || text === '..'));
          const { pathname } = new URL(`http://a${requestParts(operation, { x, y }).target}`);
          expect(pathname.split('/').slice(2).map(decodeURIComponent)).toEqual([x, y]);
        },
      ),
    );
  });

  it('writes the query by repetition and dotted names, and leaves out what is undefined or null', () => {
    const input = {
      list: ['a', 'b c', undefined],
      none: undefined,
      nothing: null,
      zero: 0,
      no: false,
      empty: '',
      since: new Date(0),
      filter: { state: 'open', tags: ['x', 'y'] },
      'odd&=': '+%',
    };
    expect(requestParts({ method: 'GET', path: '/a' }, input)).toEqual({
      target:
        '/a?list=a&list=b+c&zero=0&no=false&empty=&since=1970-01-01T00%3A00%3A00.000Z&filter.state=open&filter.tags=x&filter.tags=y&odd%26%3D=%2B%25',
      body: undefined,
    });
  });

  it('puts what is not in the path into the body, the query, or both', () => {
    const input = { id: 'i', name: 'n', thing: { a: 1 }, force: true };
    expect(requestParts({ method: 'POST', path: '/a/{id}', body: '*' }, input)).toEqual({
      target: '/a/i',
      body: '{"name":"n","thing":{"a":1},"force":true}',
    });
    expect(requestParts({ method: 'POST', path: '/a/{id}', body: 'thing' }, input)).toEqual({
      target: '/a/i?name=n&force=true',
      body: '{"a":1}',
    });
    expect(requestParts({ method: 'DELETE', path: '/a/{id}' }, input).body).toBeUndefined();
    expect(requestParts({ method: 'POST', path: '/a/{id}', body: '*' }, { id: 'i' }).body).toBe('{}');
    expect(requestParts({ method: 'POST', path: '/a/{id}', body: 'thing' }, { id: 'i' }).body).toBe('{}');
  });
});
