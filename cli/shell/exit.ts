/**
 * Defines the exit codes of `svc`, which are part of its public surface, so that scripts may rely on them.
 */
import { SvcAbortError, SvcApiError, SvcConnectionError, SvcTimeoutError } from '@svc/sdk';
import { CliError, UsageError } from './errors.ts';
import { Interrupted } from './io.ts';

export const EXIT = {
  ok: 0,
  /** The API refused, or the operation itself failed. */
  failed: 1,
  /** Wrong command line. */
  usage: 2,
  /** A simulation: something would newly be refused. */
  refusing: 3,
  /** Code for 401: there is no credential, or no valid one. */
  auth: 4,
  notFound: 5,
  /** No answer: network, or out of time. */
  unreachable: 7,
  /** Not over yet when the waiting ended. */
  pending: 8,
  interrupted: 130,
} as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof Interrupted) return error.exitCode;
  if (error instanceof SvcAbortError)
    return error.cause instanceof Interrupted ? error.cause.exitCode : EXIT.unreachable;
  if (error instanceof SvcTimeoutError || error instanceof SvcConnectionError) return EXIT.unreachable;
  if (error instanceof SvcApiError) return exitCodeOfStatus(error.status);
  return EXIT.failed;
}

export function exitCodeOfStatus(status: number): number {
  if (status === 401) return EXIT.auth;
  return status === 404 ? EXIT.notFound : EXIT.failed;
}
