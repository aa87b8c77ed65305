/** Names the resources of the SDK that the page uses. */
import { Runners } from '@svc/sdk';
import { client } from '../../api.ts';

export const runners = new Runners(client);
