import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();

const TPL = 'tpl_01m8hx150xexf8ce8hr26smdbr';
const PRJ = 'prj_01m8hx150xexf8ce8hr26smdbr';
const LINE = `templates deploy ${TPL} --project ${PRJ}`;
const template = {
  id: TPL,
  variables: [
    { name: 'SHOP_NAME', description: 'Shown on\u001B[2J top', required: true, secret: false },
    { name: 'API_TOKEN', required: true, secret: true },
    { name: 'PAGE_SIZE', required: true, secret: false, default: '20' },
    { name: 'SESSION_KEY', required: true, secret: true, generate: { bytes: 32, alphabet: 'hex' } },
    { name: 'MAIL_FROM', required: false, secret: false, format: 'email' },
  ],
};
const environment = { id: 'env_1', name: 'shop' };
const whole = { environment, build: { id: 'bld_1', number: 1, state: 'queued' }, missingVariables: [] };

const deploys = (answer: object = whole): void => {
  api.on(`GET /templates/${TPL}`, { body: template });
  api.on(`POST /projects/${PRJ}/deploy-template`, { status: 201, body: answer });
};
const sent = () => api.asked.find(({ method }) => method === 'POST')?.body;

describe('svc templates deploy', () => {
  it('sends the values that are given, and tells what was made', async () => {
    deploys();
    const { code, out, err } = await svc(api, `${LINE} --var SHOP_NAME=Acme --var API_TOKEN=x --json`);
    expect([code, JSON.parse(out)]).toEqual([0, whole]);
    expect(sent()).toEqual({ templateId: TPL, variables: { SHOP_NAME: 'Acme', API_TOKEN: 'x' } });
    expect(err).toBe('');
  });

  it('asks a person for what is missing, for secrets without showing them', async () => {
    deploys();
    const { code, err, io } = await svc(api, LINE, { terminal: true, answers: ['Acme', 's3cr3t'] });
    expect(code).toBe(0);
    expect(io.questions).toEqual([
      expect.stringMatching(/^SHOP_NAME \(Shown on.* top\): $/),
      'API_TOKEN: (hidden)',
    ]);
    expect(io.questions.join('')).not.toContain('\u001B[2J');
    expect(sent()).toMatchObject({ variables: { SHOP_NAME: 'Acme', API_TOKEN: 's3cr3t' } });
    expect(err).toContain('environment shop (env_1) made; build 1 (bld_1) queued');
  });

  it('takes no empty answer', async () => {
    deploys();
    const says = 'SHOP_NAME is required, and nothing was typed';
    await ends(api, LINE, { code: 2, says, terminal: true, answers: [''] });
    expect(sent()).toBeUndefined();
  });

  it('names what is missing to a script, and makes nothing', async () => {
    deploys();
    const { err } = await ends(api, `${LINE} --var SHOP_NAME=Acme`, {
      code: 2,
      says: 'the template requires variables that are not given: API_TOKEN',
    });
    expect(err).toContain('--var API_TOKEN=…');
    expect(sent()).toBeUndefined();
  });

  it('makes it incomplete where that is asked for', async () => {
    deploys({ environment, missingVariables: ['API_TOKEN', 'SHOP_NAME'] });
    const { code, err } = await svc(api, `${LINE} --incomplete`, { terminal: true });
    expect(code).toBe(0);
    expect(err).toContain('it is built when these are set: API_TOKEN, SHOP_NAME');
    expect(api.asked).toHaveLength(1);
  });

  it('reads values from standard input', async () => {
    deploys();
    const { code } = await svc(api, `${LINE} --var-stdin`, { input: 'SHOP_NAME=Acme\nAPI_TOKEN=x=y\n' });
    expect(code).toBe(0);
    expect(sent()).toMatchObject({ variables: { SHOP_NAME: 'Acme', API_TOKEN: 'x=y' } });
  });
});
