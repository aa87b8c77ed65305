import { describe, expect, it } from 'vitest';
import { EMPTY, merge, recipeProblem, type Recipe, type RecipeService } from './recipe.ts';
import { generated, valueProblem } from './values.ts';

const BASE: Recipe = { ...EMPTY, name: 'Shop', buildCommand: 'make', containerPort: 3000 };
const storage = (hostPath: string, more: Partial<RecipeService> = {}): RecipeService => ({
  name: 'data',
  kind: 'storage',
  hostPath,
  containerPath: '/srv/data',
  ...more,
});
const problemWith = (recipe: Partial<Recipe>): string => {
  const problem = recipeProblem({ ...EMPTY, ...recipe });
  return problem === undefined ? 'none' : `${problem.field} ${problem.message}`;
};

describe('merge()', () => {
  it('takes what the file says where nobody changed anything since', () => {
    const file = { buildCommand: 'make all', variables: [{ name: 'A', required: true, secret: false }] };
    expect(merge(BASE, BASE, file)).toEqual({ recipe: { ...BASE, ...file }, kept: [] });
  });

  it('keeps what was changed by hand, and tells it', () => {
    const current = { ...BASE, buildCommand: 'by hand' };
    const { recipe, kept } = merge(current, BASE, { buildCommand: 'make all', buildPath: 'web' });
    expect(recipe).toEqual({ ...current, buildPath: 'web' });
    expect(kept).toEqual(['buildCommand']);
  });

  it('has nothing to keep where both ends say the same, or the file nothing', () => {
    const current = { ...BASE, buildCommand: 'the same', description: 'by hand' };
    expect(merge(current, BASE, { buildCommand: 'the same' })).toEqual({ recipe: current, kept: [] });
  });

  it('takes a field again that was set back by hand', () => {
    expect(merge(BASE, BASE, { containerPort: 0 }).recipe.containerPort).toBe(0);
  });
});

describe('recipeProblem()', () => {
  it.each<[string, Partial<Recipe>]>([
    ['buildPath holds ".."', { buildPath: 'a/../../etc' }],
    ['dockerfile holds ".."', { dockerfile: '../Dockerfile' }],
    ['buildCommand has 9000 characters', { buildCommand: 'x'.repeat(9_000) }],
    ['services[0].hostPath is a path of a machine', { services: [storage('/etc')] }],
    ['services[0].hostPath expected', { services: [storage('a,source=/etc')] }],
    [
      'services[0].containerPath nothing can be mounted',
      { services: [storage('a', { containerPath: '/proc' })] },
    ],
    ['services[0].kind is storage, which needs something', { containerPort: 0, services: [storage('a')] }],
    ['services[1].name is data', { services: [storage('a'), storage('b', { containerPath: '/b' })] }],
    ['services[0].databaseType is missing', { services: [{ name: 'a', kind: 'database' }] }],
    [
      'services[0].image is redis:latest',
      { services: [{ name: 'a', kind: 'database', databaseType: 'redis', image: 'redis:latest' }] },
    ],
    [
      'variables[0].name is DATABASE_URL, which the database brings',
      {
        variables: [{ name: 'DATABASE_URL', required: true, secret: false }],
        services: [{ name: 'a', kind: 'database', databaseType: 'postgres' }],
      },
    ],
    [
      'variables[0].default would be a secret that everybody reads',
      { variables: [{ name: 'A', required: true, secret: true, default: 'x' }] },
    ],
    [
      'variables[0].default is not an e-mail address',
      { variables: [{ name: 'A', required: true, secret: false, default: 'x', format: 'email' }] },
    ],
    ['variables are 101', { variables: Array.from({ length: 101 }, (_, n) => variable(`A${n}`)) }],
    [
      'variables make a template of',
      {
        variables: Array.from({ length: 100 }, (_, n) => ({
          ...variable(`A${n}`),
          default: 'x'.repeat(4_000),
        })),
      },
    ],
  ])('finds that %s', (problem, recipe) => {
    expect(problemWith(recipe)).toContain(problem);
  });

  it('finds nothing wrong with what is right', () => {
    const image = 'registry.example.com:5000/team/postgres';
    const services: readonly RecipeService[] = [
      storage('uploads/img'),
      { name: 'a', kind: 'database', databaseType: 'postgres', image, imageVersion: '16' },
      { name: 'b', kind: 'test_database', databaseType: 'postgres' },
    ];
    expect(problemWith({ services, variables: [variable('A')] })).toBe('none');
  });
});

const variable = (name: string) => ({ name, required: true, secret: false });

describe('valueProblem()', () => {
  it.each([
    [
      'url',
      ['https://example.com/a?b', 'postgres://u:p@db/x'],
      ['example.com', 'https://', 'javascript:x', ''],
    ],
    ['email', ['a@example.com', 'a.b+c@example.co.uk'], ['a', 'a@b', '@example.com', 'a b@example.com']],
    ['integer', ['0', '-12', '007'], ['1.5', '', '1e3', '0x1', `${'9'.repeat(30)}`]],
    ['host', ['example.com', 'db', 'münchen.example'], ['https://a', 'a:80', 'a b', '-a', '', 'a/b']],
    ['hex', ['00ff', 'AB'], ['abc', '0x00', '']],
  ] as const)('knows a value of the form %s', (format, good, bad) => {
    expect(good.filter((value) => valueProblem(value, format) !== undefined)).toEqual([]);
    expect(bad.filter((value) => valueProblem(value, format) === undefined)).toEqual([]);
    expect(valueProblem('anything', undefined)).toBeUndefined();
  });
});

describe('generated()', () => {
  it('writes so much chance in the characters that are asked for', () => {
    expect(generated({ bytes: 16, alphabet: 'hex' })).toMatch(/^[0-9a-f]{32}$/);
    expect(generated({ bytes: 32, alphabet: 'base64url' })).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(generated({ bytes: 32, alphabet: 'alnum' })).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(generated({ bytes: 16, alphabet: 'hex' })).not.toBe(generated({ bytes: 16, alphabet: 'hex' }));
  });
});
