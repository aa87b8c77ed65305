/** How a call ended that is expected to be refused. */
import type { SvcApiError } from '@svc/sdk';

/** Status and code, such as `403 role_insufficient`. */
export async function refused(call: PromiseLike<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    const { status, code } = error as SvcApiError;
    return `${status} ${code}`;
  }
  return 'not refused';
}
