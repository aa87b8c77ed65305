import { describe, expect, it } from 'vitest';
import { parsePathTemplate } from './path-template.ts';

describe('parsePathTemplate()', () => {
  it('splits literals, variables and the custom verb', () => {
    expect(parsePathTemplate('/teams/{team_id}/runs:cancelAll')).toEqual({
      segments: [{ literal: 'teams' }, { field: 'team_id', multi: false }, { literal: 'runs' }],
      customVerb: 'cancelAll',
      text: '/teams/{team_id}/runs:cancelAll',
      shape: '/teams/*/runs:cancelAll',
    });
  });

  it('takes a colon after a variable for a custom verb', () => {
    expect(parsePathTemplate('/runs/{id}:stop')).toMatchObject({ customVerb: 'stop', shape: '/runs/*:stop' });
  });

  it('drops the pattern of one segment and keeps the one of the rest', () => {
    expect(parsePathTemplate('/a/{b=*}/{c=**}')).toMatchObject({ text: '/a/{b}/{c}', shape: '/a/*/**' });
  });

  it('keeps the dots of a nested field for the caller to refuse', () => {
    expect(parsePathTemplate('/a/{b.c}').segments).toEqual([
      { literal: 'a' },
      { field: 'b.c', multi: false },
    ]);
  });

  it.each([
    ['/a//b', 'path "/a//b" has an empty segment'],
    ['/a/{b', 'path "/a/{b" has the segment "{b"; allowed are literals, {field}, {field=*} and {field=**}'],
    [
      '/a/{B}',
      'path "/a/{B}" has the segment "{B}"; allowed are literals, {field}, {field=*} and {field=**}',
    ],
    [
      '/a/x{b}',
      'path "/a/x{b}" has the segment "x{b}"; allowed are literals, {field}, {field=*} and {field=**}',
    ],
    ['/a/*', 'path "/a/*" has the segment "*"; allowed are literals, {field}, {field=*} and {field=**}'],
    ['/', 'path "/" has an empty segment'],
  ])('refuses %s', (template, message) => {
    expect(() => parsePathTemplate(template)).toThrow(message);
  });
});
