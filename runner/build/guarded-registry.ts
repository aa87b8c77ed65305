/** Whether a registry asks who calls, looked at before an image of a team goes where those of other teams lie. */
import { errorText } from '../platform/errors.ts';
import { MachineFailed } from './failure.ts';
import type { ImagePlan } from './plan.ts';

const ASK_MS = 10_000;

/** Throws MachineFailed: it is the operator's to mend. */
export async function requireGuarded({ host, insecure, guarded }: ImagePlan): Promise<void> {
  if (!guarded) return;
  const address = `${insecure ? 'http' : 'https'}://${host}/v2/`;
  const answer = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(ASK_MS) }).catch(
    (error: unknown) => {
      throw new MachineFailed(
        `the registry ${host} cannot be asked whether it is guarded: ${errorText(error)}`,
      );
    },
  );
  await answer.body?.cancel();
  if (answer.status === 401) return;
  throw new MachineFailed(
    `the registry ${host} answers callers without a credential (status ${answer.status}), so nothing is published there; ` +
      'give it token authentication as compose.yaml does',
  );
}
