import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { LogStream } from '../gen/svc/runner/v1/runner_pb.ts';
import {
  SandboxRunsService,
  StreamLogsRequestSchema,
  GetRequestSchema,
} from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { implement, implementPart, joinMethods, type Implementation } from './implement.ts';

const unused = (): never => {
  throw new Error('not called in this test');
};

function implementation(): Implementation<typeof SandboxRunsService, { who: string }> {
  return {
    create: unused,
    list: unused,
    cancel: unused,
    get: async (request, ctx) => ({ id: request.runId, message: ctx.who }),
    streamLogs: async ({ runId }) =>
      (async function* () {
        yield { position: `${runId}-1`, stream: LogStream.STDOUT };
        yield { position: `${runId}-2` };
      })(),
  };
}

describe('implement()', () => {
  it('turns the initialiser that a unary method returns into a message', async () => {
    const { methods } = implement(SandboxRunsService, implementation());
    const get = methods.get('svc.sandboxruns.v1.SandboxRunsService/Get');
    const answer = await get?.(create(GetRequestSchema, { runId: 'run_1' }), { who: 'ada' });
    expect(answer).toMatchObject({
      $typeName: 'svc.sandboxruns.v1.SandboxRun',
      id: 'run_1',
      message: 'ada',
      command: [],
    });
  });

  it('turns every item of a stream into a message', async () => {
    const { methods } = implement(SandboxRunsService, implementation());
    const stream = methods.get('svc.sandboxruns.v1.SandboxRunsService/StreamLogs');
    const items = [];
    if (stream === undefined) throw new Error('no StreamLogs');
    const opened = await stream(create(StreamLogsRequestSchema, { runId: 'x' }), { who: '' });
    for await (const item of opened as AsyncIterable<unknown>) items.push(item);
    expect(items).toMatchObject([
      { $typeName: 'svc.sandboxruns.v1.LogEvent', position: 'x-1', stream: LogStream.STDOUT },
      { $typeName: 'svc.sandboxruns.v1.LogEvent', position: 'x-2' },
    ]);
  });

  it('refuses an implementation that lacks a method', () => {
    const partial: Partial<Implementation<typeof SandboxRunsService, { who: string }>> = implementation();
    delete partial.get;
    expect(() =>
      implement(SandboxRunsService, partial as Implementation<typeof SandboxRunsService, { who: string }>),
    ).toThrow('svc.sandboxruns.v1.SandboxRunsService/Get is not implemented: add get()');
  });
});

describe('implementPart()', () => {
  const { get, ...others } = implementation();
  const part = (methods: Partial<Implementation<typeof SandboxRunsService, { who: string }>>) =>
    implementPart(SandboxRunsService, methods);
  const parts = [part({ get }), part(others)];

  it('brings the methods that it is given, and the parts make the whole', () => {
    expect([...(parts[0]?.methods.keys() ?? [])]).toEqual(['svc.sandboxruns.v1.SandboxRunsService/Get']);
    expect(new Set(joinMethods(parts).keys())).toEqual(
      new Set(implement(SandboxRunsService, implementation()).methods.keys()),
    );
  });

  it('brings none that another part brings as well', () => {
    expect(() => joinMethods([...parts, part({ get })])).toThrow(
      'svc.sandboxruns.v1.SandboxRunsService/Get is implemented twice',
    );
  });
});
