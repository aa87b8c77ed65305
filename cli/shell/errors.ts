/** Defines errors of the command line itself; those of the API come from the SDK. */

/** The command line is wrong: exit code 2. `hints` are further lines, the most useful first. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly hints: readonly string[];
  /** Printed instead of hints where a listing helps more, such as the commands of a group. */
  readonly listing: string | undefined;

  constructor(
    message: string,
    options: { readonly hints?: readonly string[]; readonly listing?: string } = {},
  ) {
    super(message);
    this.hints = options.hints ?? [];
    this.listing = options.listing;
  }
}

/** Says what was thrown, whatever that is. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Anything else that ends a command, with a word for programs. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: string;
  readonly exitCode: number;
  readonly hints: readonly string[];

  constructor(
    code: string,
    message: string,
    options: {
      readonly exitCode?: number;
      readonly hints?: readonly string[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.exitCode = options.exitCode ?? 1;
    this.hints = options.hints ?? [];
  }
}
