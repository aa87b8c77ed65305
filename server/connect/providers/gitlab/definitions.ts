/** The files that define the pipelines of a connection of GitLab CI/CD. */
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = ['gitlab'];
