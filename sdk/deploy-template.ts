/** Projects, with what deploys a template in one of them. */
import type { Client } from './core/client.ts';
import { Projects, type Templates } from './gen/index.ts';

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
  deployTemplate(...asked: Parameters<Templates['deploy']>): ReturnType<Templates['deploy']> {
    return this.#templates.deploy(...asked);
  }
}
