/** The files that define the pipelines of a connection of GitHub Actions. */
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = ['github'];
