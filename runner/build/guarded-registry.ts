/**
 * Checks that a registry asks for credentials, before an image of one team is pushed to a place that other
 * teams share.
 */
import { errorText } from '../platform/errors.ts';
import { MachineFailed } from './failure.ts';
import type { ImagePlan } from './plan.ts';

const ASK_MS = 10_000;

/** Throws MachineFailed: the operator must mend it. */
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
