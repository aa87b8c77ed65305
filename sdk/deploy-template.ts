/** Projects, with what deploys a template in one of them. */
import type { ApiPromise, CallOptions, Client } from './core/client.ts';
import {
  Projects,
  type Templates,
  type TemplatesDeployParams,
  type TemplatesDeployResponse,
} from './gen/index.ts';

/** Projects, and `deployTemplate`. */
export class DeployingProjects extends Projects {
  readonly #templates: Pick<Templates, 'deploy'>;

  constructor(client: Client, templates: Pick<Templates, 'deploy'>) {
    super(client);
    this.#templates = templates;
  }

  /**
   * Makes an environment of the project from a template, under the slug of the template unless a name is
   * given. The same as `templates.deploy`.
   *
   * Needs: scope `project:write`.
   *
   * @example Deploy with values of your own
   * const values = { variables: { SHOP_NAME: 'Acme' } };
   * await sdk.projects.deployTemplate('prj_01', 'web-shop', 'production', values);
   */
  deployTemplate(
    projectId: string,
    templateId: string,
    name?: string,
    params?: TemplatesDeployParams & CallOptions,
    options?: CallOptions,
  ): ApiPromise<TemplatesDeployResponse> {
    return this.#templates.deploy(projectId, templateId, name, params, options);
  }
}
