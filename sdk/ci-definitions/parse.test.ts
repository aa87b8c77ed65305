/** These tests say what real files define. The expected values were read by hand, not printed by the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDefinition, type CiDefinitionProvider } from './index.ts';

const folder = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'connect', 'ci-files');
const deployment = 'azure-pipelines-yaml__templates__';
const workflow = 'go-convert__convert__github__yaml__testdata__';
const gitlab = 'go-convert__convert__gitlab__';
const bitbucket = 'go-convert__convert__bitbucket__yaml__testdata__';

type Row = readonly [file: string, jobs: string, triggers: string, deploys?: 'deploys'];

/** Jobs are separated by `|`, triggers by a space. `refused`: not what that CI system would take. */
const FILES: Readonly<Record<CiDefinitionProvider, readonly Row[]>> = {
  github: [
    ['cypress-example-kitchensink__github__workflows__chrome-docker.yml', 'chrome', 'push workflow_dispatch'],
    [
      'datadog-ci__github__workflows__ci.yml',
      'build-and-test|unit-tests-windows|e2e-test|check-container-app-changes|check-cloud-run-changes|check-aas-changes|check-lambda-changes|check-version-bump-only|e2e-test-windows|test-plugin-auto-install-during-npx|test-plugin-auto-install-in-project-npm|test-plugin-auto-install-in-project-yarn|standalone-binary-test-ubuntu|standalone-binary-test-ubuntu-arm|standalone-binary-test-alpine|standalone-binary-test-alpine-arm|standalone-binary-test-windows|standalone-binary-test-macos|standalone-binary-test-macos-arm|datadog-static-analyzer|datadog-static-analyzer-non-diff-aware|lint-yaml|check-licenses',
      'push',
    ],
    [`${workflow}matrix__example-3.yaml`, 'example_matrix', 'repository_dispatch'],
    [`${workflow}on-workflow-dispatch__example-1.yaml`, 'print-tag', 'workflow_dispatch'],
    [`${workflow}on__pull-request-target-1.yaml`, 'refused', ''],
    ['starter-workflows__automation__greetings.yml', 'greeting', 'pull_request_target issues'],
    ['starter-workflows__ci__go.yml', 'build', 'push pull_request'],
    ['starter-workflows__ci__python-package.yml', 'build', 'push pull_request'],
    [
      'starter-workflows__deployments__azure-container-webapp.yml',
      'build|deploy',
      'push workflow_dispatch',
      'deploys',
    ],
    [
      'starter-workflows__deployments__azure-webapps-node.yml',
      'build|deploy',
      'push workflow_dispatch',
      'deploys',
    ],
    ['starter-workflows__deployments__tencent.yml', 'setup-build-publish-deploy', 'push', 'deploys'],
    ['starter-workflows__pages__jekyll-gh-pages.yml', 'build|deploy', 'push workflow_dispatch', 'deploys'],
    ['webhooks__github__workflows__release.yml', 'build', 'push'],
  ],
  gitlab: [
    ['cypress-example-kitchensink__basic__.gitlab-ci.yml', 'test', 'push'],
    [`${gitlab}testdata__templates__allow_failure.yaml`, 'job1', 'push'],
    [`${gitlab}testdata__templates__extends.yaml`, 'rspec', 'push'],
    [`${gitlab}yaml__testdata__job_keywords__environment__action.yaml`, 'stop_review_app', 'push'],
    [`${gitlab}yaml__testdata__job_keywords__extends__example-1.yaml`, 'rspec', 'branches'],
    [
      `${gitlab}yaml__testdata__job_keywords__resource_group__example-1.yaml`,
      'deploy-to-production',
      'push',
      'deploys',
    ],
    [`${gitlab}yaml__testdata__job_keywords__trigger__forward.yaml`, 'child1|child2|child3', 'push'],
  ],
  circleci: [
    ['cypress-example-kitchensink__basic__.circleci__config.yml', 'test', 'push'],
    ['go-convert__convert__circle__testdata__matrix__example2.yaml', 'build', 'push'],
    ['go-convert__convert__circle__testdata__params__example2.yaml', 'my-job', 'push'],
  ],
  bitbucket: [
    [`${bitbucket}definitions__example1.yaml`, 'Hello world example', 'default'],
    [`${bitbucket}global__example1.yaml`, 'Hello world example', 'default'],
    [`${bitbucket}parallel__example3.yaml`, 'Build|Integration 1|Integration 2', 'default'],
    [`${bitbucket}stages__example3.yaml`, 'step1', 'default'],
    [`${bitbucket}steps__example15.yaml`, 'Step 1|Step 2', 'default'],
  ],
  azure: [
    [`${deployment}deploy-to-existing-kubernetes-cluster.yml`, 'refused', ''],
    [`${deployment}go.yml`, 'refused', ''],
    [`${deployment}node.js.yml`, 'refused', ''],
    ['cypress-example-kitchensink__azure-ci.yml', 'Cypress_e2e_tests', 'push'],
    [
      `filled__${deployment}docker-container-to-aks.yml`,
      'CreateResources|BuildImage|DeployApp',
      'push',
      'deploys',
    ],
    [
      `filled__${deployment}maven-webapp-to-linux-on-azure.yml`,
      'MavenPackageAndPublishArtifacts|DeployLinuxWebApp',
      'push',
      'deploys',
    ],
  ],
  buildkite: [
    ['cypress-example-kitchensink__buildkite__pipeline.yml', ':cypress: Cypress', ''],
    ['pipeline-schema__test__valid-pipelines__env.yml', '', ''],
    ['pipeline-schema__test__valid-pipelines__input.yml', '', ''],
  ],
  drone: [
    ['go-convert__convert__drone__testdata__examples__docker.yaml', 'test', ''],
    ['go-convert__convert__drone__testdata__examples__slack.yaml', 'slack', ''],
  ],
  jenkins: [
    [
      'cypress-example-kitchensink__Jenkinsfile',
      'build|start local server|cypress parallel tests|tester A|tester B',
      '',
    ],
    [
      'go-convert__convert__jenkins__testdata__Jenkinsfile.12',
      'Checkout|Build|Unit Test|Integration Test|Statical Code Analysis|Deploy',
      'cron',
      'deploys',
    ],
    [
      'go-convert__convert__jenkins__testdata__Jenkinsfile.5',
      'Checkout|Build|Unit Test|Integration Test',
      '',
    ],
    [
      'go-convert__convert__jenkinsjson__convertTestFiles__ansible__Jenkinsfile',
      'Setup Inline Playbook and Inventory|Run Ansible Playbook|Run Ansible Ad-Hoc Command|Test Ansible Vault Plugin',
      '',
    ],
  ],
};

describe.each(Object.entries(FILES) as [CiDefinitionProvider, readonly Row[]][])(
  'files of %s',
  (provider, rows) => {
    it('are all looked at', () => {
      const names = rows.map(([file]) => file).sort();
      expect(readdirSync(join(folder, provider)).sort()).toEqual(names);
    });

    it.each(rows.map(([file, jobs, triggers, deploys]) => ({ file, jobs, triggers, deploys })))(
      '$file',
      (row) => {
        const { file, jobs, triggers, deploys } = row;
        const text = readFileSync(join(folder, provider, file), 'utf8');
        const parsed = parseDefinition({ path: file, text, provider });
        if (jobs === 'refused') {
          expect(parsed.pipelines).toEqual([]);
          expect(parsed.problems).toMatchObject([{ severity: 'error' }]);
          return;
        }
        expect(parsed.problems).toEqual([]);
        expect(parsed.pipelines).toHaveLength(1);
        const [pipeline] = parsed.pipelines;
        expect(pipeline?.jobs.map(({ name }) => name).join('|')).toBe(jobs);
        expect(pipeline?.triggers.join(' ')).toBe(triggers);
        expect([pipeline?.deployDetected, pipeline?.evidence]).toEqual([
          deploys === 'deploys',
          expect.any(Array),
        ]);
        const lines = text.split(/\r?\n/);
        for (const evidence of pipeline?.evidence ?? [])
          expect(lines[evidence.line - 1]).toContain(evidence.text.replace(/…$/, ''));
        for (const { line } of pipeline?.jobs ?? []) expect(lines[line - 1]?.trim()).not.toBe('');
      },
    );
  },
);

it('says where evidence stands', () => {
  const file = 'starter-workflows__deployments__tencent.yml';
  const text = readFileSync(join(folder, 'github', file), 'utf8');
  const { pipelines } = parseDefinition({ path: file, text, provider: 'github' });
  expect(pipelines[0]?.evidence).toContainEqual({
    line: 77,
    text: './kustomize build . | kubectl apply -f -',
    why: 'the command kubectl apply',
    strength: 'strong',
  });
});

it('does not take a file of another system for one of its own', () => {
  const file = 'cypress-example-kitchensink__buildspec.yml';
  const text = readFileSync(join(folder, 'other', file), 'utf8');
  const { provider, pipelines, problems } = parseDefinition({ path: 'buildspec.yml', text });
  expect([provider, pipelines]).toEqual([undefined, []]);
  expect(problems[0]?.message).toBe('a file of AWS CodeBuild, which is not read');
  const unknown = parseDefinition({ path: 'x.yml', text });
  expect(unknown.problems[0]?.message).toContain('no CI system that is known');
});
