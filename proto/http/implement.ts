/** Types the implementation of a service, and makes the untyped table that a pipeline calls. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';

type MethodImplementation<M extends DescMethod, Ctx> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, ctx: Ctx) => Promise<MessageInitShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, ctx: Ctx) => Promise<AsyncIterable<MessageInitShape<O>>>
      : never;

/**
 * One function per RPC, by its local name (`runners.clearDivergenceFlag`). A stream's resolves when nothing
 * refuses it any more.
 */
export type Implementation<S extends DescService, Ctx> = {
  [K in keyof S['method']]: MethodImplementation<S['method'][K], Ctx>;
};

export type Handler<Ctx> = (request: Message, ctx: Ctx) => Promise<Message | AsyncIterable<Message>>;

export interface Handlers<Ctx> {
  readonly service: DescService;
  /**
   * Handlers by RPC id, `svc.runners.v1.RunnersService/List`. Unary ones promise a message, streams an async
   * iterable.
   */
  readonly methods: ReadonlyMap<string, Handler<Ctx>>;
}

type AnyFunction = (request: Message, ctx: unknown) => unknown;

/** It binds an implementation to its service. Fails at once when a method is missing. */
export function implement<S extends DescService, Ctx>(
  service: S,
  implementation: Implementation<S, Ctx>,
): Handlers<Ctx> {
  const handlers = implementPart(service, implementation);
  const missing = service.methods.find((method) => !handlers.methods.has(idOf(method)));
  if (missing !== undefined)
    throw new Error(`${idOf(missing)} is not implemented: add ${missing.localName}()`);
  return handlers;
}

/**
 * Does the same for the methods that one feature of several brings to a service. Whoever serves it joins
 * them.
 */
export function implementPart<S extends DescService, Ctx>(
  service: S,
  implementation: Partial<Implementation<S, Ctx>>,
): Handlers<Ctx> {
  const methods = new Map<string, Handler<Ctx>>();
  for (const method of service.methods) {
    const own = (implementation as Record<string, AnyFunction | undefined>)[method.localName];
    if (own !== undefined) methods.set(idOf(method), bind(method, own.bind(implementation)));
  }
  return { service, methods };
}

/** Joins what services, and parts of them, implement. Throws when a method is there twice. */
export function joinMethods<Ctx>(handlers: ReadonlyArray<Handlers<Ctx>>): ReadonlyMap<string, Handler<Ctx>> {
  const joined = new Map<string, Handler<Ctx>>();
  for (const [id, handler] of handlers.flatMap(({ methods }) => [...methods])) {
    if (joined.has(id)) throw new Error(`${id} is implemented twice`);
    joined.set(id, handler);
  }
  return joined;
}

const idOf = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`;

function bind<Ctx>(method: DescMethod, own: AnyFunction): Handler<Ctx> {
  const output = method.output;
  if (method.methodKind === 'unary') {
    return async (request, ctx) =>
      create(output, (await own(request, ctx)) as MessageInitShape<typeof output>);
  }
  if (method.methodKind === 'server_streaming') {
    return async (request, ctx) =>
      messages(output, (await own(request, ctx)) as AsyncIterable<MessageInitShape<typeof output>>);
  }
  throw new Error(
    `${method.parent.typeName}/${method.name} is ${method.methodKind}: only unary calls and server streams are served`,
  );
}

async function* messages(
  output: DescMessage,
  items: AsyncIterable<MessageInitShape<DescMessage>>,
): AsyncGenerator<Message> {
  for await (const item of items) yield create(output, item);
}
