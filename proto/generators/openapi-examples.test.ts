/**
 * Checks the examples of the OpenAPI document by a second validator, which shares no code with the one of the
 * other tests, and by the rules of the server itself.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registerSchema, setShouldValidateFormat, validate } from '@hyperjump/json-schema/openapi-3-1';
import '@hyperjump/json-schema/formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rpcs } from '../gen/rpcs.ts';
import { decodeText } from '../http/json.ts';
import { validate as validateMessage } from '../http/validate.ts';
import { buildModel } from './build-model.ts';
import { loadImage } from './image.ts';
import { createExamples } from './openapi-examples.ts';
import { REPOSITORY } from './testdata/workspace.ts';

interface MediaType {
  readonly schema?: unknown;
  readonly example?: unknown;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: unknown;
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}
interface Contract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const text = readFileSync(join(REPOSITORY, 'proto/gen/openapi.json'), 'utf8');
const contract = JSON.parse(text) as Contract;

/** One example with the schema that it must fit, as a JSON pointer into the document. */
interface Shown {
  readonly of: string;
  readonly pointer: string;
  readonly example: unknown;
}

function examplesOf({ paths }: Contract): Shown[] {
  return operationsOf(paths).flatMap(({ operation, keys }) => {
    const media = (content: Readonly<Record<string, MediaType>> | undefined, at: readonly string[]) =>
      Object.entries(content ?? {})
        .filter(([, { schema }]) => schema !== undefined)
        .map(([type, { example }]) => ({ example, keys: [...keys, ...at, 'content', type] }));
    const found = [
      ...(operation.parameters ?? []).flatMap(({ in: place, required, example }, index) =>
        place === 'header' || required !== true
          ? []
          : [{ example, keys: [...keys, 'parameters', String(index)] }],
      ),
      ...media(operation.requestBody?.content, ['requestBody']),
      ...Object.entries(operation.responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([status, { content }]) => media(content, ['responses', status])),
    ];
    return found.map(({ example, keys: at }) => ({
      of: `${operation.operationId} ${at.slice(keys.length).join(' ')}`,
      pointer: [...at, 'schema'].map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
      example,
    }));
  });
}

function operationsOf(paths: Contract['paths']) {
  return Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({
      path,
      verb,
      operation,
      keys: ['paths', path, verb],
    })),
  );
}

async function misfits(shown: readonly Shown[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { of, pointer, example } of shown) {
    const { valid } = await validate(`${URI}#${encodeURI(pointer)}`, JSON.parse(JSON.stringify(example)));
    if (!valid) wrong.push(`${of}: ${JSON.stringify(example)}`);
  }
  return wrong;
}

const URI = 'https://svc.example.com/openapi.json';

beforeAll(() => {
  setShouldValidateFormat(true);
  registerSchema(JSON.parse(text), URI, 'https://spec.openapis.org/oas/3.1/dialect/base');
});
afterAll(() => {
  setShouldValidateFormat(undefined);
});

it('a field for whose rules nothing fits says so, and its comment can name one', async () => {
  const model = buildModel(await loadImage(REPOSITORY));
  const examples = createExamples(model);
  const field = model.messages.flatMap(({ fields }) => fields).find(({ type }) => type.kind === 'string');
  if (field === undefined) throw new Error('the contract has no text');
  const odd = { ...field, repeated: false, map: false, rules: { pattern: '^Z{3}$' }, comment: 'Text.' };
  expect(() => examples.field(odd, 'input')).toThrow(
    `${field.desc.parent.typeName}.${field.name}: no example fits its rules {"pattern":"^Z{3}$"}; name one`,
  );
  expect(examples.field({ ...odd, comment: 'Text, such as `ZZZ`.' }, 'input')).toBe('ZZZ');
});

describe('the examples of the OpenAPI document', () => {
  const shown = examplesOf(contract);

  it('are there for the request and the answer of every operation', () => {
    expect(shown.filter(({ example }) => example === undefined).map(({ of }) => of)).toEqual([]);
    const withExample = new Set(shown.map(({ of }) => of.split(' ')[0]));
    // An operation that takes nothing and answers nothing, or bytes, has nothing to show.
    const without = operationsOf(contract.paths)
      .map(({ operation }) => operation)
      .filter(({ operationId }) => !withExample.has(operationId));
    expect(without.map(({ operationId }) => operationId)).toEqual([]);
    expect(shown.length).toBeGreaterThan(500);
  });

  it('fit their schemas, and the document that of OpenAPI 3.1, as a second validator sees them', async () => {
    const document = await validate('https://spec.openapis.org/oas/3.1/schema-base', JSON.parse(text));
    expect(document.valid).toBe(true);
    expect(await misfits(shown)).toEqual([]);
  });

  it('would be found if they did not fit', async () => {
    const of = (name: string) => shown.filter((each) => each.of.startsWith(`${name} `));
    const bad = (name: string, example: unknown) => of(name).map((each) => ({ ...each, example }));
    expect(await misfits(bad('teams.list', { teams: [{ id: 1 }] }))).toHaveLength(1);
    const login = { email: 'me', password: 'x', token: 't', userId: 'u' };
    expect(await misfits(bad('auth.login', { ...login, expiresAt: 'soon' }))).toHaveLength(2);
    expect(await misfits(bad('auth.login', { ...login, expiresAt: '2026-01-15T09:30:00Z' }))).toHaveLength(1);
    const [body] = bad('projects.create', { name: 'web', teamId: 't', other: 1 });
    expect(await misfits(body === undefined ? [] : [body])).toHaveLength(1);
  });

  it('are requests that the rules of the contract take', () => {
    const byRoute = new Map(
      rpcs.flatMap((rpc) =>
        rpc.routes.map((route) => [
          `${route.verb} ${route.template.replaceAll(/\{[^}]+\}/g, '{}')}`,
          { rpc, route },
        ]),
      ),
    );
    let read = 0;
    for (const { path, verb, operation } of operationsOf(contract.paths)) {
      const found = byRoute.get(`${verb.toUpperCase()} ${path.replaceAll(/\{[^}]+\}/g, '{}')}`);
      if (found === undefined) continue; // The webhooks of CI systems are no RPC.
      const { rpc, route } = found;
      const body = operation.requestBody?.content['application/json']?.example;
      const variables = route.segments.flatMap((segment) => ('field' in segment ? [segment.field] : []));
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      const request = {
        ...Object.fromEntries(inPath.map(({ example }, index) => [variables[index], example])),
        ...Object.fromEntries(
          (operation.parameters ?? []).flatMap(({ name, in: place, example }) =>
            place === 'query' && example !== undefined ? [[name, example]] : [],
          ),
        ),
        ...(route.body === '*' || route.body === '' ? (body as object | undefined) : { [route.body]: body }),
      };
      const { input } = rpc.desc;
      expect(
        () => validateMessage(input, decodeText(input, JSON.stringify(request))),
        operation.operationId,
      ).not.toThrow();
      read += 1;
    }
    expect(read).toBeGreaterThan(200);
  });
});
