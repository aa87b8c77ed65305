/** Teams whose work goes to runners of their own, as staff set them up. */
import type { SvcSDK } from '@svc/sdk';

/** From now on the team's work goes to its own runners alone. */
export async function runsItself(staff: SvcSDK, teamId: string): Promise<void> {
  const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
  if (region === undefined) throw new Error('no customer-operated region after the first start');
  await staff.adminTeams.setRegion(teamId, region.id);
}
