import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { FileRegistry } from '@bufbuild/protobuf';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, it } from 'vitest';
import { usualOf } from '../http/defaults.ts';
import { enumNames } from '../http/enum-names.ts';
import { createOptionReader } from '../http/options.ts';
import { buildModel } from './build-model.ts';
import { loadImage } from './image.ts';
import type { Model } from './model.ts';
import { printAll } from './outputs.ts';
import { REPOSITORY } from './testdata/workspace.ts';
import { writeThirdParty } from './third-party.ts';

/** These tests read the product's own contracts, not fixtures, and say what holds for all of them. */
let registry: FileRegistry;
let model: Model;
let outputs: ReadonlyMap<string, string>;

beforeAll(async () => {
  writeThirdParty(REPOSITORY);
  registry = await loadImage(REPOSITORY);
  model = buildModel(registry);
  outputs = printAll(model, '0.0.0');
});

function read(path: string): string {
  return outputs.get(path) ?? '';
}

describe('the contracts', () => {
  it('give the files that are committed', () => {
    // OpenAPI holds the version of the product; everything else must be equal to the letter.
    for (const [path, text] of outputs) {
      if (path !== 'proto/gen/openapi.json')
        expect(readFileSync(join(REPOSITORY, path), 'utf8') === text, `${path} is fresh`).toBe(true);
    }
  });

  it('give an OpenAPI document that is valid', async () => {
    const result = await new Validator().validate(JSON.parse(read('proto/gen/openapi.json')));
    expect(result.valid ? [] : result.errors).toEqual([]);
  });

  it('give an OpenAPI document whose references all lead somewhere and whose operation ids are unique', () => {
    const text = read('proto/gen/openapi.json');
    const document: { components: { schemas: Record<string, unknown> } } = JSON.parse(text);
    const references = [...text.matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );
    expect(references.length).toBeGreaterThan(100);
    expect(references.filter((name) => !(name in document.components.schemas))).toEqual([]);
    const ids = [...text.matchAll(/"operationId": "([^"]+)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('give an OpenAPI document with every tag in the group of one area', () => {
    const document: {
      tags: { name: string }[];
      'x-tagGroups': { name: string; tags: string[] }[];
      paths: Record<string, Record<string, { tags: string[] }>>;
    } = JSON.parse(read('proto/gen/openapi.json'));
    const groups = document['x-tagGroups'];
    expect(groups.flatMap(({ tags }) => tags).sort()).toEqual(document.tags.map(({ name }) => name).sort());
    expect(groups.find(({ name }) => name === 'Access')?.tags).toContain('apiKeys');
    const titles = model.areas.map(({ json }) => json);
    expect(groups.map(({ name }) => name.toLowerCase())).toEqual(
      titles.filter((title) => groups.some(({ name }) => name.toLowerCase() === title)),
    );
    expect(titles.length).toBe(10);
  });

  it('are described in sentences and noun phrases, not in fragments of questions', () => {
    const elements: [name: string, comment: string][] = [
      ...model.services.flatMap((service): [string, string][] => [
        [service.typeName, service.comment],
        ...service.rpcs.map(({ id, comment }): [string, string] => [id, comment]),
      ]),
      ...model.messages.flatMap((message): [string, string][] => [
        [message.typeName, message.comment],
        ...message.fields.map(({ name, comment }): [string, string] => [
          `${message.typeName}.${name}`,
          comment,
        ]),
      ]),
      ...model.enums.flatMap((desc): [string, string][] => [
        [desc.typeName, desc.comment],
        ...desc.values.map(({ name, comment }): [string, string] => [name, comment]),
      ]),
    ];
    expect(elements.length).toBeGreaterThan(1_000);
    expect(
      elements
        .filter(([, comment]) =>
          /^(Whether|What|Which|When|Where|Why|Who|Whom|How|Of|Until|Since)\b/.test(comment),
        )
        .map(([name, comment]) => `${name}: ${comment}`),
    ).toEqual([]);
  });

  it('put every published route into OpenAPI, and nothing internal', () => {
    const document: { paths: Record<string, Record<string, unknown>> } = JSON.parse(
      read('proto/gen/openapi.json'),
    );
    // The names of parameters may be those of another operation of the path.
    const nameless = (route: string) => route.replace(/\{[^}]+\}/g, '{}');
    const documented = Object.entries(document.paths).flatMap(([path, verbs]) =>
      Object.keys(verbs).map((verb) => nameless(`${verb.toUpperCase()} ${path}`)),
    );
    const served = model.services
      .filter((service) => service.audience !== 'internal')
      .flatMap((service) =>
        service.rpcs.flatMap((rpc) =>
          rpc.routes.map(({ route, jsonPath }) => nameless(`${route.verb} ${jsonPath}`)),
        ),
      );
    expect(documented.sort()).toEqual([...served, 'POST /ci/webhooks/{}'].sort());
  });

  it('give no two paths that differ only in the names of their parameters, which are those of the path', () => {
    const document: {
      paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
    } = JSON.parse(read('proto/gen/openapi.json'));
    const paths = Object.keys(document.paths);
    const shapes = paths.map((path) => path.replace(/\{[^}]+\}/g, '{}'));
    expect(shapes.filter((shape, index) => shapes.indexOf(shape) !== index)).toEqual([]);
    for (const [path, verbs] of Object.entries(document.paths)) {
      const named = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
      for (const [verb, { parameters = [] }] of Object.entries(verbs)) {
        const given = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        expect(given, `${verb} ${path}`).toEqual(named);
      }
    }
  });

  it('spell enum values as the JSON codec does', () => {
    for (const { desc, values } of model.enums) {
      const { byNumber } = enumNames(desc);
      expect(values.map((value) => value.json)).toEqual(values.map((value) => byNumber.get(value.number)));
    }
    expect(model.enums.length).toBeGreaterThan(10);
  });

  it('say nothing that follows without being said', () => {
    const options = createOptionReader(registry);
    const superfluous = model.services.flatMap(({ desc, rpcs }) =>
      rpcs.flatMap((rpc) => {
        const said = options.operation(rpc.desc) ?? {};
        const usual: object = usualOf(options, rpc.desc, {});
        return Object.entries(said)
          .filter(([key, value]) => isDeepStrictEqual(value, usual[key as keyof typeof usual]))
          .map(([key]) => `${desc.typeName}/${rpc.name}: ${key}`);
      }),
    );
    expect(superfluous).toEqual([]);
  });

  it('describe every rpc, field, message and enum value', () => {
    const silent = [
      ...model.services.flatMap((service) =>
        service.rpcs.filter((rpc) => rpc.comment === '').map((rpc) => rpc.id),
      ),
      ...model.messages.flatMap((message) =>
        message.fields
          .filter((field) => field.comment === '' && !message.typeName.startsWith('google.'))
          .map((field) => `${message.typeName}.${field.name}`),
      ),
      ...model.enums.flatMap((desc) =>
        desc.values.filter((value) => value.comment === '').map((value) => `${desc.typeName}.${value.name}`),
      ),
    ];
    expect(silent).toEqual([]);
  });
});
