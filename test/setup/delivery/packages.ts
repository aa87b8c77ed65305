/** Gets compliance packages as a team does. */
import type { CompliancePackage, SvcSDK } from '@svc/sdk';
import { waitFor } from '../wait-for.ts';
import type { World } from '../world.ts';

type Period = readonly [start: string, end: string];

/** Returns a package of the period, once its assembly has ended well or not. */
export async function assembled(sdk: SvcSDK, teamId: string, period: Period): Promise<CompliancePackage> {
  const { id } = await sdk.compliance.assemble(teamId, ...period);
  return await waitFor(`package ${id}`, async () => await sdk.compliance.get(teamId, id), {
    holds: ({ state }) => state !== 'assembling',
  });
}

/** Returns the tar file of a package that the owner has assembled, reviewed and exported. */
export async function packageOf(
  { sdk, teamId }: Pick<World, 'sdk' | 'teamId'>,
  period: Period,
): Promise<Uint8Array> {
  const { id } = await assembled(sdk, teamId, period);
  await sdk.compliance.markLegalReviewed(teamId, id);
  return await sdk.compliance.export(teamId, id);
}
