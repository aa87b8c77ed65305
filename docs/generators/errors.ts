/** Writes errors.md, which has every error code, from the table that answers are made of. */
import { Code } from '@connectrpc/connect';
import { ERROR_MEANINGS } from '../../proto/http/error-meanings.ts';
import { ERRORS, type ErrorCode } from '../../proto/http/errors.ts';
import { code, page, table } from './markdown.ts';

export function errorsPage(): string {
  const codes = Object.keys(ERRORS).sort() as ErrorCode[];
  const rows = codes.map((name) => {
    const { status, connect, retryable } = ERRORS[name];
    return [
      code(name),
      String(status),
      code(wireName(connect)),
      retryable ? 'yes' : '',
      ERROR_MEANINGS[name],
    ];
  });
  return page('Errors', ABOUT, [table(HEAD, rows)]);
}

const ABOUT = `Every error is \`{"error": {"code", "message", "requestId", "retryable", "details"?}}\`. \`code\` is stable and meant for programs, \`message\` for
people; \`requestId\` names the call in the log of the service. \`retryable\` says whether the very same request may succeed later; an answer may say
otherwise than this table in a single case. Over Connect and gRPC the code of the protocol stands beside it.`;
const HEAD = ['code', 'HTTP status', 'Connect and gRPC', 'retryable', 'when'];

/** `FailedPrecondition` is `failed_precondition` on the wire. */
function wireName(connect: Code): string {
  return (Code[connect] ?? '').replaceAll(/(?<!^)([A-Z])/g, '_$1').toLowerCase();
}
