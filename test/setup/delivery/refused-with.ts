/** Tells how a call ended that is expected to be refused, in the words of its error. */
import { SvcApiError } from '@svc/sdk';

/** Returns status, code and message. */
export async function refusedWith(call: PromiseLike<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SvcApiError) return `${error.status} ${error.code} ${error.message}`;
    throw error;
  }
  return 'not refused';
}
