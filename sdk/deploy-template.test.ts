import { describe, expect, it, vi } from 'vitest';
import { Client } from './core/client.ts';
import { DeployingProjects } from './deploy-template.ts';
import { createSvcSDK, Templates } from './index.ts';

describe('deployTemplate', () => {
  it('is the deploy of templates, with project, template, name and values in their places', async () => {
    const client = new Client();
    const templates = new Templates(client);
    const deploy = vi.spyOn(templates, 'deploy').mockReturnValue('answered' as never);
    const projects = new DeployingProjects(client, templates);
    const values = { variables: { A: 'b' } };
    expect(await projects.deployTemplate('prj_1', 'tpl_1', 'shop', values)).toBe('answered');
    expect(deploy).toHaveBeenCalledExactlyOnceWith('prj_1', 'tpl_1', 'shop', values);
  });

  it('stands among the projects of the SDK', () => {
    expect(createSvcSDK().projects).toBeInstanceOf(DeployingProjects);
  });
});
