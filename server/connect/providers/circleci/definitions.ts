/** The files that define the pipelines of a connection of CircleCI. */
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = ['circleci'];
