/** Opens the API's door: it checks keys, versions and forms, and saves answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { expanded } from './expand.ts';
import type { CallRecord, Fault, OwnFaults } from './faults.ts';
import { paramsOf, parseForm } from './forms.ts';
import type { Answer, Idempotency } from './idempotency.ts';
import { bodyOf, invalid, Refusal } from './refusal.ts';
import type { Route } from './routes.ts';
import { API_VERSION, type World } from './world.ts';

export interface Door {
  readonly world: World;
  readonly routes: readonly Route[];
  readonly key: string;
  readonly faults: OwnFaults;
  readonly idempotency: Idempotency;
  readonly calls: CallRecord[];
}

export function createDoor(door: Door): Server {
  const server = createServer((request, response) => {
    void serve(door, request, response).catch(() => request.destroy());
  });
  server.on('connection', (socket) => {
    if (door.faults.isDown()) socket.destroy();
  });
  return server;
}

async function serve(door: Door, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://stripe');
  const form = [search.slice(1), await textOf(request)].filter((each) => each !== '').join('&');
  if (!pathname.startsWith('/v1/')) {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('A page that a person would see.\n');
    return;
  }
  const call: CallRecord = {
    method: request.method ?? 'GET',
    path: pathname,
    params: parseForm(form),
    idempotencyKey: headerOf(request, 'idempotency-key') ?? null,
    requestId: door.world.nextId('req'),
    replayed: false,
  };
  door.calls.push(call);
  const fault = door.faults.next(call);
  const answer = fault === 'reset' ? undefined : await answerOf(door, { request, call, fault });
  if (answer === undefined || fault === 'lost' || door.faults.isDown()) {
    request.socket.destroy();
    return;
  }
  call.status = answer.status;
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    'request-id': call.requestId,
    'stripe-version': API_VERSION,
    ...(call.idempotencyKey === null ? {} : { 'idempotency-key': call.idempotencyKey }),
    ...(call.replayed ? { 'idempotent-replayed': 'true' } : {}),
  });
  response.end(answer.body);
}

interface Incoming {
  readonly request: IncomingMessage;
  readonly call: CallRecord;
  readonly fault: Fault | undefined;
}

async function answerOf(door: Door, { request, call, fault }: Incoming): Promise<Answer> {
  const key = call.method === 'POST' ? call.idempotencyKey : null;
  try {
    authenticate(door, request);
    if (key !== null) {
      if (key.length > 255) throw invalid('Idempotency keys can have up to 255 characters.');
      const fingerprint = JSON.stringify([call.method, call.path, call.params]);
      const saved = door.idempotency.begin(key, fingerprint);
      if (saved !== undefined) {
        call.replayed = true;
        return saved;
      }
    }
  } catch (error) {
    return refused(error, call);
  }
  await door.faults.paused(call);
  const answer = run(door, call, fault);
  if (key !== null) {
    // What was refused before anything began is not kept.
    if ([200, 402].includes(answer.status) || answer.status >= 500) door.idempotency.save(key, answer);
    else door.idempotency.forget(key);
  }
  return answer;
}

function run(door: Door, call: CallRecord, fault: Fault | undefined): Answer {
  if (fault === 'error') return internal(call);
  const { world } = door;
  world.request = { id: call.requestId, idempotency_key: call.idempotencyKey };
  try {
    const body = routed(door, call);
    return fault === 'error_after_effect'
      ? internal(call)
      : { status: 200, body: JSON.stringify(body, undefined, 2) };
  } catch (error) {
    return refused(error, call);
  } finally {
    world.request = null;
  }
}

function routed({ routes, world }: Door, call: CallRecord): object {
  const params = paramsOf(call.params);
  for (const route of routes) {
    if (route.method !== call.method) continue;
    const match = patternOf(route.path).exec(call.path);
    if (match === null) continue;
    params.only(route.accepts);
    const id = decodeURIComponent(match[1] ?? '');
    return expanded(world, route.answer({ world, params, id }), params.texts('expand'));
  }
  throw new Refusal({
    status: 404,
    type: 'invalid_request_error',
    message: `Unrecognized request URL (${call.method}: ${call.path}).`,
  });
}

const patternOf = (path: string) => new RegExp(`^${path.replace(':id', '([^/]+)')}$`);

function authenticate({ key }: Door, request: IncomingMessage): void {
  const header = headerOf(request, 'authorization') ?? '';
  const [scheme, given = ''] = header.split(' ');
  const presented = scheme === 'Basic' ? Buffer.from(given, 'base64').toString('utf8').split(':')[0] : given;
  if (presented === undefined || presented === '')
    throw new Refusal({
      status: 401,
      type: 'invalid_request_error',
      message: 'You did not provide an API key.',
    });
  if (presented !== key)
    throw new Refusal({
      status: 401,
      type: 'invalid_request_error',
      message: `Invalid API Key provided: ${presented.slice(0, 8)}****`,
    });
  const version = headerOf(request, 'stripe-version');
  if (version !== undefined && version !== API_VERSION)
    throw invalid(`Invalid Stripe API version: ${version}; the counterpart speaks ${API_VERSION}.`);
}

function refused(error: unknown, call: CallRecord): Answer {
  if (!(error instanceof Refusal)) {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ...internal(call, `The counterpart is at fault: ${words}`) };
  }
  return {
    status: error.refused.status,
    body: JSON.stringify(bodyOf(error.refused, call.requestId), undefined, 2),
  };
}

const internal = (call: CallRecord, message = 'An unknown error occurred.'): Answer => ({
  status: 500,
  body: JSON.stringify(bodyOf({ status: 500, type: 'api_error', message }, call.requestId), undefined, 2),
});

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}
