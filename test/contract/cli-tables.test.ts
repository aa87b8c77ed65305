/**
 * The generator leaves out of cli/gen/ what cli/tables.ts takes for granted: of every command they say
 * together what its contract says.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandSpec, FieldSpec } from '../../cli/command.ts';
import { buildModel } from '../../proto/generators/build-model.ts';
import { loadImage } from '../../proto/generators/image.ts';
import type { CliFieldModel, RpcModel } from '../../proto/generators/model.ts';
import { createFixtureWorkspace } from '../../proto/generators/testdata/workspace.ts';
import { printedGroups } from './printed-tables.ts';

const workspace = createFixtureWorkspace();
let rpcs: readonly RpcModel[];
let commands: readonly CommandSpec[];

beforeAll(async () => {
  const model = buildModel(await loadImage(workspace.root));
  rpcs = model.services.flatMap((service) => service.rpcs).filter(({ cli }) => cli !== undefined);
  const names = [...new Set(rpcs.map(({ cli }) => cli?.group ?? ''))];
  commands = (await Promise.all((await printedGroups(model, names)).map(({ load }) => load()))).flat();
});
afterAll(() => workspace.remove());

/** As the contract has it. */
function fieldOf(model: CliFieldModel): Partial<FieldSpec> {
  const { field: _field, path: name, rest, description, ...same } = model;
  return { name, ...same, description: description, ...(rest && { rest }) };
}

describe('a printed table', () => {
  it('has a command for every RPC of the command line, and no other', () => {
    const line = (group = '', words: readonly string[] = []) => [group, ...words].join(' ');
    expect(commands.map(({ group, words }) => line(group, words)).toSorted()).toEqual(
      rpcs.map(({ cli }) => line(cli?.group, cli?.words)).toSorted(),
    );
    expect(commands.length).toBeGreaterThan(10);
  });

  it('says of every command and field what its contract says', () => {
    for (const rpc of rpcs) {
      const { cli, page } = rpc;
      const spec = commands.find(
        ({ group, words }) => group === cli?.group && words.join(' ') === cli.words.join(' '),
      );
      expect(spec, rpc.id).toMatchObject({
        description: rpc.comment,
        destructive: rpc.destructive,
        stream: rpc.serverStreaming,
        columns: rpc.columns,
        auth: rpc.auth,
        stability: rpc.stability,
        deprecated: rpc.deprecated,
      });
      expect(
        {
          raw: spec?.raw,
          bodyBytesMax: spec?.bodyBytesMax,
          page: spec?.page,
          rows: spec?.rows,
          feature: spec?.feature,
        },
        rpc.id,
      ).toEqual({
        raw: rpc.raw ? true : undefined,
        bodyBytesMax: rpc.routes[0]?.route.body === '' ? undefined : rpc.bodyBytesMax,
        page: page && { maxLimit: page.maxLimit },
        rows: (page?.items ?? rpc.numbered ?? rpc.sdk?.returns)?.json,
        feature: rpc.feature,
      });
      expect(spec?.positionals, rpc.id).toEqual(cli?.positionals.map(fieldOf));
      expect(spec?.flags, rpc.id).toEqual(cli?.flags.map(fieldOf));
    }
  });
});
