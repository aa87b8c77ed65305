/** The files that define the pipelines of a generic connection: those of any system, for what runs there is not known. */
import { CI_DEFINITION_PROVIDERS } from '@svc/sdk/ci-definitions';
import type { CiDefinitionProvider } from '@svc/sdk/ci-definitions';

export const definitions: readonly CiDefinitionProvider[] = CI_DEFINITION_PROVIDERS;
