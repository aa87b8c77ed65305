/**
 * What ends or prints together goes in one request: reports of several runs, and output of several. A call
 * goes at once where nothing of its kind is under way; what comes meanwhile goes in the next request. Each
 * has its own answer, so that a refusal concerns one run alone; a request that failed as a whole is repeated
 * by each of those in it.
 */
import { inBatches } from '@svc/proto/process/batches.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Answer, CallOptions } from './api.ts';
import { TransportError } from './http-client.ts';
import { CallError, judgeError, judgeTransport } from './retryable.ts';
import type { CallName, CallRefusal, Calls, LogsRequest } from './wire.ts';

type Call = (name: CallName, body: object, options?: CallOptions) => Promise<Answer<object>>;

/** The name of the request for many, and of the lists of its calls and of what came of them. */
const MANY = {
  logs: { name: 'logs-of-many', items: 'logs', outcome: 'stored' },
  report: { name: 'reports-of-many', items: 'reports', outcome: 'reported' },
} as const satisfies Partial<
  Record<CallName, { readonly name: CallName; readonly items: string; readonly outcome: string }>
>;
type Together = keyof typeof MANY;

/** One may hang without holding up the others. */
const REQUESTS_AT_ONCE = 2;
const CALLS_MAX = 32;
/** Characters of output in a request, in base64. */
const OUTPUT_MAX = 1_200_000;
/** A control plane of an older version takes one call a request; it is asked again after this time. */
const ALONE_MS = 600_000;

export function callsTogether(call: Call): Call {
  const batches = { logs: createBatches(call, 'logs'), report: createBatches(call, 'report') };
  return async (name, body, options = {}) => {
    if (!isTogether(name) || options.timeoutMs !== undefined) return await call(name, body, options);
    return await untilAborted(batches[name](body), options.signal);
  };
}

const isTogether = (name: CallName): name is Together => Object.hasOwn(MANY, name);

function createBatches(call: Call, name: Together): (body: object) => Promise<Answer<object>> {
  let aloneUntilMs = Number.NEGATIVE_INFINITY;
  const alone = async (bodies: readonly object[]) =>
    await Promise.all(
      bodies.map(async (body) => await call(name, body).catch((error: unknown) => error as Error)),
    );
  return inBatches<object, Answer<object>>({
    parallel: REQUESTS_AT_ONCE,
    itemsMax: CALLS_MAX,
    waitingMax: Number.POSITIVE_INFINITY,
    overfull: Error,
    sizeMax: OUTPUT_MAX,
    sizeOf: (body) =>
      name === 'logs' ? (body as LogsRequest).chunks.reduce((sum, { data }) => sum + data.length, 0) : 0,
    run: async (bodies) => {
      if (bodies.length === 1 || monotonicMs() < aloneUntilMs) return await alone(bodies);
      try {
        const { value, sentMonotonicMs } = await call(MANY[name].name, { [MANY[name].items]: bodies });
        return bodies.map((_, at) => outcomeOf(value as Reply, name, { at, sentMonotonicMs }));
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        // One that breaks a rule of the contract keeps the others from being read.
        const isOfOne = error.failure.verdict === 'refused';
        if (error.failure.unserved === true) aloneUntilMs = monotonicMs() + ALONE_MS;
        else if (!isOfOne) throw error;
        return await alone(bodies);
      }
    },
  });
}

type Reply = Partial<Calls['logs-of-many']['reply'] & Calls['reports-of-many']['reply']>;

function outcomeOf(
  {
    answers,
  }: {
    readonly answers?: ReadonlyArray<
      Partial<Record<'stored' | 'reported', object> & { refused: CallRefusal }>
    >;
  },
  name: Together,
  { at, sentMonotonicMs }: { readonly at: number; readonly sentMonotonicMs: number },
): Answer<object> | CallError {
  const { refused, [MANY[name].outcome]: value } = answers?.[at] ?? {};
  if (value !== undefined) return { value, sentMonotonicMs };
  const {
    status = 502,
    code = 'foreign_reply',
    message = `answer ${at} of ${name} is missing`,
    ...rest
  } = refused ?? {};
  const { retryAfterMs, details } = rest;
  const error = {
    code,
    message,
    ...(details === undefined ? {} : { details: details as Record<string, unknown> }),
  };
  return new CallError(judgeError(status, error, retryAfterMs));
}

/** Whoever gives up waits no longer; the request, which concerns others, goes on. */
async function untilAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await answer;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new CallError(judgeTransport(new TransportError('aborted', 'gave up: stopping'))));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    aborted.catch(() => undefined);
    answer.catch(() => undefined);
  }
}
