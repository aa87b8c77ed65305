/** Which files make the pipelines of a connection of Buildkite. */
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = ['buildkite'];
