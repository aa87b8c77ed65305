/** How a call ended that is expected to be refused, with what people are told. */
import { SvcApiError } from '@svc/sdk';

/** Status, code and message. */
export async function refusedWith(call: PromiseLike<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SvcApiError) return `${error.status} ${error.code} ${error.message}`;
    throw error;
  }
  return 'not refused';
}
