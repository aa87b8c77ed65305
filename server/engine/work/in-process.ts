/** The dispatch service for a gateway in the same process: no wire, the same messages. */
import { create } from '@bufbuild/protobuf';
import type { DescMethodUnary, Message } from '@bufbuild/protobuf';
import { DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { toApiError } from '@svc/proto/http/errors.ts';
import type { Client, ClientCallOptions, Handlers } from '@svc/proto/http/implement.ts';
import { mapDatabaseError } from '../../platform/db/index.ts';
import type { DispatchCtx } from './dispatch.ts';

const NEVER = new AbortController().signal;

export function inProcessDispatch(handlers: Handlers<DispatchCtx>): Client<typeof DispatchService> {
  const methods: Record<string, (request: Message, options?: ClientCallOptions) => Promise<Message>> = {};
  for (const method of DispatchService.methods.filter(
    (each): each is DescMethodUnary => each.methodKind === 'unary',
  )) {
    const handler = handlers.methods.get(`${DispatchService.typeName}/${method.name}`);
    if (handler === undefined) throw new Error(`${DispatchService.typeName}/${method.name} has no handler`);
    methods[method.localName] = async (request, options) => {
      try {
        return (await handler(create(method.input, request), {
          signal: options?.signal ?? NEVER,
        })) as Message;
      } catch (error) {
        throw toApiError(mapDatabaseError(error));
      }
    };
  }
  // Built from the descriptor, so its methods are exactly the service's.
  return methods as unknown as Client<typeof DispatchService>;
}
