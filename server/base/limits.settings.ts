/** These bound at the door how much one caller or network may ask for. */
import { limit, number } from '@svc/proto/process/settings.ts';

export const limits = {
  requestsPerMinute: limit(
    'LIMIT_REQUESTS_PER_MINUTE',
    6_000,
    'Requests a minute of one API key or session.',
  ),
  submitsPerMinute: limit(
    'LIMIT_SUBMITS_PER_MINUTE',
    60_000,
    'Submissions a minute of one API key or session.',
  ),
  anonymousPerMinute: limit(
    'LIMIT_ANONYMOUS_PER_MINUTE',
    600,
    'Requests a minute from one address without a credential.',
  ),
  loginsPerMinute: limit(
    'LIMIT_LOGINS_PER_MINUTE',
    20,
    'Calls of sign-in and the like a minute from one address.',
  ),
  bodyMibPerMinute: number('LIMIT_BODY_MIB_PER_MINUTE', {
    about:
      'Request bodies read in a minute for one API key or session, with compression undone. All callers at one address have four times as much, callers without a credential a twentieth.',
    unit: 'MiB',
    fallback: 300,
    min: 1,
    max: 10_000_000,
  }),
  pagesPerMinute: limit(
    'LIMIT_PAGES_PER_MINUTE',
    1_200,
    'Console pages and files, and `/openapi.json`, a minute for one network.',
  ),
  /** Server streams that are open at once: followed logs, watched lists, exports. */
  streams: {
    perCredentialMax: limit(
      'LIMIT_STREAMS_PER_CREDENTIAL',
      200,
      'Open streams of one API key or session, and of one network for callers without a credential.',
    ),
    perAccountMax: limit(
      'LIMIT_STREAMS_PER_ACCOUNT',
      500,
      'Open streams of all keys and sessions of one account.',
    ),
    perConnectionMax: limit(
      'LIMIT_STREAMS_PER_CONNECTION',
      100,
      'Open streams of one connection that no trusted proxy made. Below the 128 requests at once of an HTTP/2 connection, calls still find a place.',
    ),
  },
};
