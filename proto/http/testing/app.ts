/** Makes an app for tests of the door: any RPC of the contracts, answered by functions of the test. */
import type { Message } from '@bufbuild/protobuf';
import { onTestFinished } from 'vitest';
import { rpcs } from '../../gen/rpcs.ts';
import type { App, CallContext, Gate, UnaryCall } from '../call.ts';
import { createDoor, type DoorOptions, type OpenDoor } from '../door.ts';
import { apiError } from '../errors.ts';
import type { CallRecord } from '../active-call.ts';
import type { RpcInfo } from '../rpc.ts';

export interface TestAnswers {
  invoke?: (call: UnaryCall, request: Message) => Promise<Message> | Message;
  /** Gives a stream; what a promise of it rejects with refuses the stream. */
  stream?: (call: CallContext, request: Message) => AsyncIterable<Message> | Promise<AsyncIterable<Message>>;
  admit?: (call: CallContext) => string;
  admitTeam?: (call: CallContext, teamId: string) => void;
  admitBody?: (call: CallContext, body: Uint8Array) => void;
  admitBytes?: (call: CallContext, bytes: number) => void;
  gate?: (rpc: RpcInfo) => Gate;
}

export interface TestDoor {
  readonly url: string;
  readonly port: number;
  readonly open: OpenDoor;
  /** Records of calls, in order of their end. */
  readonly records: CallRecord[];
  readonly logged: object[];
}

export const publicRpcs = rpcs.filter((rpc) => rpc.audience !== 'internal');

export function testApp(answers: TestAnswers, served: readonly RpcInfo[] = publicRpcs): App<string> {
  const { admitTeam, admitBody, admitBytes } = answers;
  return {
    rpcs: served,
    gate: answers.gate ?? (() => 'open'),
    admit: answers.admit ?? (() => 'ada'),
    admitTeam: (call, _caller, teamId) => admitTeam?.(call, teamId),
    admitBytes: (call, _caller, bytes) => admitBytes?.(call, bytes),
    ...(admitBody !== undefined && {
      admitBody: async (call: CallContext, _caller: string, body: Uint8Array) => admitBody(call, body),
    }),
    async invoke(call, _caller, request) {
      if (answers.invoke === undefined) throw apiError('unavailable', 'no answer in this test');
      return await answers.invoke(call, request);
    },
    async stream(call, _caller, request) {
      if (answers.stream === undefined) throw apiError('unavailable', 'no stream in this test');
      return await answers.stream(call, request);
    },
  };
}

export async function openDoor(answers: TestAnswers, options: Partial<DoorOptions> = {}): Promise<TestDoor> {
  const records: CallRecord[] = [];
  const logged: object[] = [];
  const log = {
    error: (fields: object) => void logged.push(fields),
    warn: (fields: object) => void logged.push(fields),
  };
  const door = createDoor({
    apps: [testApp(answers)],
    log,
    onCall: (record) => void records.push(record),
    ...options,
  });
  const open = await door.listen({ port: 0, host: '127.0.0.1' });
  return { url: `http://127.0.0.1:${open.port}`, port: open.port, open, records, logged };
}

/** Opens a door that is closed when the test which runs is over. */
export async function doorOfTest(
  answers: TestAnswers,
  options: Partial<DoorOptions> = {},
): Promise<TestDoor> {
  const door = await openDoor(answers, options);
  onTestFinished(() => door.open.close(0));
  return door;
}
