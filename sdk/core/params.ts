/**
 * Takes parameters of a call, among which its options may stand: there is no field of a request with a name
 * of theirs.
 */
import type { CallOptions } from './client.ts';

const OPTIONS: Readonly<Record<keyof CallOptions, true>> = {
  idempotencyKey: true,
  signal: true,
  timeoutMs: true,
  maxRetries: true,
  headers: true,
};

/** The names of the options of a call. */
export const CALL_OPTIONS: readonly string[] = Object.keys(OPTIONS);

type Input = Readonly<Record<string, unknown>>;

/**
 * It parts the input and options of a call: `builds.create(id, { idempotencyKey })` has no parameter and one
 * option. Where both say something, `options` counts.
 */
export function withParams(
  args: Input,
  params: object | undefined,
  options: CallOptions | undefined,
): [Input, CallOptions] {
  const input: Record<string, unknown> = { ...args };
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(params ?? {}))
    (Object.hasOwn(OPTIONS, name) ? found : input)[name] = value;
  return [input, { ...(found as CallOptions), ...options }];
}
