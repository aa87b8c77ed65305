/** Which files make the pipelines of a connection of Bitbucket Pipelines. */
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = ['bitbucket'];
