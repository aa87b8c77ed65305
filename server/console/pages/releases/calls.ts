/** Names the resources of the SDK that the page uses. */
import { Artifacts, Promotions, Releases, Teams } from '@svc/sdk';
import { client } from '../../api.ts';

export const artifacts = new Artifacts(client);
export const promotions = new Promotions(client);
export const releases = new Releases(client);
export const teams = new Teams(client);
