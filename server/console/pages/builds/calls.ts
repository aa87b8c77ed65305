/** Names the resources of the SDK that the page uses. */
import { Builds } from '@svc/sdk';
import { client } from '../../api.ts';

export const builds = new Builds(client);
