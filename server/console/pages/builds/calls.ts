/** What the page asks of the server. */
import { Builds } from '@svc/sdk';
import { client } from '../../api.ts';

export const builds = new Builds(client);
