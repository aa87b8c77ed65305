/** Credentials of jobs of CI systems, which area `connect` knows. */
import type { CallContext } from '@svc/proto/http/call.ts';
import type { Proven } from './credential-cache.ts';

/** Longer id_tokens are refused unread. */
export const ID_TOKEN_BYTES_MAX = 16_384;

export interface JobCredentials {
  /** The text has the form of such a credential. */
  isJobs(credential: string): boolean;
  /** Returns undefined when the credential belongs to no job. Throws `id_token_invalid`. */
  prove(call: CallContext, credential: string): Promise<Proven | undefined>;
}
