/** The files that define the pipelines of a connection of Bitbucket Pipelines. */
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = ['bitbucket'];
