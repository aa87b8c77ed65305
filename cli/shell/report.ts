/**
 * This is the one place where errors become text, on standard error and never with a stack without `--debug`.
 */
import { SvcAbortError, SvcApiError, SvcConnectionError } from '@svc/sdk';
import { CliError, messageOf, UsageError } from './errors.ts';
import { Interrupted, type Io } from './io.ts';
import { isRecord } from './paths.ts';
import { neutralise, neutraliseLine } from './text.ts';

export interface Reported {
  readonly json: boolean;
  readonly debug: boolean;
  /** Source of the credential in use, if any: a 401 with one and without one need different advice. */
  readonly credentialSource?: string | undefined;
  readonly withheld?: boolean | undefined;
  readonly baseUrl?: string | undefined;
  /** Advice of the command that was refused; read for refusals of the API alone. */
  readonly advice?: ((error: SvcApiError) => readonly string[]) | undefined;
  /** Text of a listing that a usage error asks for. */
  readonly listing?: string | undefined;
}

export async function reportError(error: unknown, io: Io, how: Reported): Promise<void> {
  if (isInterruption(error)) return;
  if (how.json) {
    await io.stderr.write(`${JSON.stringify(errorBody(error))}\n`);
    return;
  }
  const hints = hintsFor(error, how);
  const lines = [`svc: ${headline(error)}`, ...detailLines(error), ...hints.map((hint) => `  ${hint}`)];
  await io.stderr.write(
    `${neutralise(lines.join('\n'))}\n${how.listing === undefined ? '' : `\n${how.listing}`}`,
  );
  if (how.debug && error instanceof Error && error.stack !== undefined)
    await io.stderr.write(`${neutralise(error.stack)}\n`);
}

/** The person knows that they pressed Ctrl-C. */
function isInterruption(error: unknown): boolean {
  return (
    error instanceof Interrupted || (error instanceof SvcAbortError && error.cause instanceof Interrupted)
  );
}

/** It returns the server's answer, word for word; errors of our own have the same shape. */
export function errorBody(error: unknown): unknown {
  if (error instanceof SvcApiError && isRecord(error.body) && isRecord(error.body['error']))
    return error.body;
  if (error instanceof SvcApiError) {
    const { code, message, retryable, requestId } = error;
    return { error: { code, message, ...(requestId === undefined ? {} : { requestId }), retryable } };
  }
  const message = messageOf(error);
  if (error instanceof UsageError)
    return {
      error: {
        code: 'usage',
        message,
        retryable: false,
        ...(error.hints.length === 0 ? {} : { hints: error.hints }),
      },
    };
  return { error: { code: error instanceof CliError ? error.code : 'internal', message, retryable: false } };
}

function headline(error: unknown): string {
  if (!(error instanceof SvcApiError)) return messageOf(error);
  const request = error.requestId === undefined ? '' : `, request ${error.requestId}`;
  return neutraliseLine(`${error.message} (${error.code}${request})`);
}

/** Lists the problems that a refusal names, a line each, unless the message says it all. */
function detailLines(error: unknown): string[] {
  if (!(error instanceof SvcApiError) || !isRecord(error.body) || !isRecord(error.body['error'])) return [];
  const details = error.body['error']['details'];
  if (!isRecord(details)) return [];
  const told = (name: string, line: (each: Readonly<Record<string, unknown>>) => string): string[] => {
    const list = details[name];
    return Array.isArray(list) ? list.filter(isRecord).map(line) : [];
  };
  return [
    ...told('fields', ({ field, message }) => `${String(field)}: ${String(message)}`),
    ...told('problems', problemLine),
    ...told('failed', ({ message }) => String(message)),
  ]
    .filter((line) => !error.message.includes(line))
    .map((line) => `  ${neutraliseLine(line)}`);
}

/** Writes one problem of a document, and where in it that is. */
function problemLine({ where, position, message, suggestion }: Readonly<Record<string, unknown>>): string {
  const place = `${where === '' ? 'the document' : String(where)}${position === undefined ? '' : ` at character ${String(position)}`}`;
  return `${place}: ${String(message)}${suggestion === undefined ? '' : `; did you mean "${String(suggestion)}"?`}`;
}

function hintsFor(error: unknown, how: Reported): readonly string[] {
  if (error instanceof UsageError || error instanceof CliError) return error.hints;
  if (error instanceof SvcConnectionError && how.baseUrl !== undefined)
    return [`the address is ${how.baseUrl}; change it by --base-url, SVC_BASE_URL or "svc auth login"`];
  if (!(error instanceof SvcApiError)) return [];
  if (error.status !== 401) return how.advice?.(error).map(neutraliseLine) ?? [];
  if (how.withheld === true)
    return [
      'the stored credential belongs to another address and was not sent; run "svc auth login --base-url …" for this one',
    ];
  if (how.credentialSource === undefined) return ['run "svc auth login", or set SVC_API_KEY'];
  return [`the credential came from ${how.credentialSource}`];
}
