/** Names the resources of the SDK that the page uses. */
import { Runners, Teams } from '@svc/sdk';
import { client, ifMissing } from '../../api.ts';

export const runners = new Runners(client);
export const teams = new Teams(client);

/**
 * The platform feature behind it is internal, so nobody is told that it is off: the calls are not there then.
 */
export async function runnersAnswer(): Promise<boolean> {
  const [first] = await teams.list();
  if (first === undefined) return false;
  return await ifMissing(false, async () => {
    await runners.list(first.id);
    return true;
  });
}
