/** Calls of one service, made by the same person unless a call says otherwise; for tests without doors. */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../../server/kit/context.ts';
import { callUnary, type TestCall } from '../work/ctx.ts';

export const unaryOf =
  (service: () => Handlers<Ctx>, caller: () => TestCall) =>
  async <I extends DescMessage, O extends DescMessage>(
    method: { readonly name: string; readonly input: I; readonly output: O },
    request: MessageInitShape<I>,
    as: TestCall = caller(),
  ) =>
    await callUnary(service(), method, { request, options: as });
