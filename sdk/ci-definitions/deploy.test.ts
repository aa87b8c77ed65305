/** Shows which commands and parts count as a deploy, and that no text makes the search slow. */
import { describe, expect, it } from 'vitest';
import { deployOf, signOfPart, signsOf } from './deploy.ts';
import { parseDefinition } from './index.ts';

describe('commands', () => {
  it.each([
    'kubectl -n x apply -f y',
    'kubectl create secret generic x --dry-run=client -o yaml | kubectl apply -f -',
    'kubectl apply -f <(kubectl create secret generic x --dry-run=client -o yaml)',
    'kubectl apply --dry-run=none -f x',
    'helm --kube-context x upgrade a b',
    'helm --debug upgrade a b',
    'helm3 -n install upgrade a b',
    'terraform -chdir=${{ inputs.folder || env.FOLDER }} apply',
    'terraform apply # as planned',
    'echo yes | terraform apply',
    'echo "::group::x" && terraform apply',
    'echo "url=$(vercel deploy --prod)" >> "$GITHUB_OUTPUT"',
    'if ! grep -q "a; b" x; then kubectl apply -f x; fi',
    'bash -c "cd x; kubectl apply -f y"',
    'sh -c "kubectl apply --dry-run=server -f x && kubectl apply -f x"',
    'echo it\'s; kubectl apply -f "x',
    'pulumi -C x up',
    'cdk --app x deploy',
    'npx aws-cdk@2 deploy',
    'npx serverless@3 deploy',
    'sls -s prod deploy',
    'sam --debug deploy',
    'aws ecs update-service --cluster x',
    'aws s3 --region x sync dist s3://x',
    'aws --region x s3 sync dist s3://x',
    'aws cloudformation deploy',
    'aws lambda update-function-code',
    'gcloud -q app deploy',
    'gcloud --project=x run deploy',
    'gcloud --project app-prod run deploy',
    'gcloud app --quiet deploy',
    'gcloud beta run services deploy',
    'az webapp up',
    'az deployment group create',
    'az webapp deployment source config-zip -g x',
    'az functionapp deployment source config-zip -g x',
    'flyctl -a x deploy',
    'fly deploy',
    'npx wrangler@3 deploy',
    'wrangler --env prod deploy',
    'wrangler pages publish dist',
    'vercel deploy --prod',
    'npx netlify-cli deploy --prod',
    'npx --yes netlify-cli@17.0.1 deploy --dir=x --prod',
    'netlify deploy -p',
    'npx firebase-tools deploy',
    'firebase --token x deploy',
    'firebase --token ${{ secrets.TOKEN }} deploy',
    'heroku container:release web',
    'git push --force heroku main',
    'git push heroku-staging main',
    'cap production deploy',
    'ansible-playbook site.yml',
    'argocd --grpc-web app sync x',
    'argocd app sync x',
    'rsync -a dist/ ci@example.com:/srv',
    'rsync -az dist/ ${{ secrets.USER }}@${{ secrets.HOST }}:/var/www',
    'scp x deploy@${{ secrets.HOST }}:/x',
    "scp x ci@${{ github.ref == 'x' && secrets.A || secrets.B }}:/x",
    'railway up',
  ])('%s deploys', (line) => {
    expect(deployOf(line)).toMatchObject({ strength: 'strong' });
  });

  it.each([
    '# kubectl apply -f x',
    '// kubectl apply -f x',
    'make  # later: kubectl apply -f x',
    'echo "a; terraform apply"',
    'echo "terraform apply" | tee x',
    "echo 'a $(terraform apply)' | tee x",
    'echo "terraform apply" >&2',
    '>&2 echo "terraform apply"',
    'make; echo terraform apply',
    'if true; then echo "terraform apply"; fi',
    '@echo kubectl apply',
    'printf "%s" "kubectl apply" | cat',
    'Write-Host "kubectl apply"; make',
    'git commit -m "kubectl apply"',
    'git -c user.name=x commit -am "helm upgrade a b; make"',
    'git log --grep "kubectl apply"',
    'grep -r "terraform apply" .',
    'if grep -q "terraform apply" x; then make; fi',
    'kubectl apply --dry-run -f x',
    'kubectl apply --dry-run=client -f x',
    'kubectl apply -f x --dry-run=server | cat',
    'helm upgrade a b --dry-run',
    'aws s3 sync dist s3://x --dryrun',
    'rsync -a --dry-run dist/ ci@example.com:/srv',
    'terraform plan',
    'helm plugin install x',
    'helm repo update',
    'netlify deploy',
    'netlify deploy --path x -print',
    'fly -a deploy-app status',
    'npm run deploy --dry-run',
  ])('%s does not', (line) => {
    expect(deployOf(line)).toBeUndefined();
  });

  it('takes a script of that name for a hint', () => {
    expect(deployOf('make deploy')).toEqual({ strength: 'weak', words: 'make deploy' });
    expect(deployOf('grep deploy.sh x')).toBeUndefined();
  });

  it('reads on after a comment of YAML', () => {
    const text =
      'on: push\njobs:\n  a:\n    steps:\n    - run: >- # the rest\n        kubectl apply\n        -f x\n';
    const [pipeline] = parseDefinition({ path: '.github/workflows/a.yml', text }).pipelines;
    expect(pipeline).toMatchObject({ deployDetected: true });
  });
});

describe('parts', () => {
  const signsOfPart = (part: string): readonly string[] => {
    const signs = signsOf({ lines: ['x'] });
    signOfPart(signs, part, 1);
    return signs.found.map(({ why }) => why);
  };

  it.each([
    'circleci/helm/install-helm-chart',
    'circleci/helm/upgrade-helm-chart',
    'circleci/aws-ecs/deploy-service-update',
    'circleci/aws-eks/update-container-image',
    'circleci/kubernetes/create-or-update-resource',
  ])('%s deploys', (part) => {
    expect(signsOfPart(part)).toEqual([`${part} deploys`]);
  });

  it.each([
    'circleci/helm/install',
    'circleci/helm/install-helm-client',
    'circleci/kubernetes/install',
    'circleci/aws-eks/update-kubeconfig-with-authenticator',
    'circleci/gcp-cloud-run/setup',
  ])('%s does not', (part) => {
    expect(signsOfPart(part)).toEqual([]);
  });

  it('leaves out the version', () => {
    expect(signsOfPart('Azure/k8s-deploy@v4')).toEqual(['Azure/k8s-deploy deploys']);
  });
});

/** Characters of one line, far more than are looked at of a command. */
const LONG = 100_000;
const TIME_MAX_MS = 200;
const PIECES = [
  'kubectl ',
  'oc ',
  'oc set ',
  'helm ',
  'helm --a b ',
  'helm --a=b ',
  'helm -helm ',
  '--a b ',
  '--a --b ',
  'terraform -a ',
  'terraform -terraform ',
  'terraform -a terraform ',
  'pulumi -a ',
  'cdk -a ',
  'sls -a ',
  'sam -a ',
  'aws --a b ',
  'aws ecs ',
  'aws -a ecs ',
  'aws s3 ',
  'aws s3 -a ',
  'gcloud -a app ',
  'gcloud app -a ',
  'gcloud beta ',
  'az webapp ',
  'az -a webapp -a ',
  'az webapp deployment source ',
  'fly -a ',
  'wrangler pages ',
  'vercel ',
  'netlify deploy ',
  'netlify -a deploy ',
  'firebase -a ',
  'firebase@',
  'heroku -a ',
  'git push ',
  'git push -a ',
  'git push heroku',
  'git commit',
  'cap ',
  'cap cap',
  'ansible-playbook ',
  'argocd app ',
  'argocd -a app ',
  'rsync ',
  'rsync a@',
  'rsync a@b ',
  'a@b',
  'scp ${{a}}@',
  'dokku deploy',
  'dokku ',
  'npm run ',
  'deploy.',
  '${{',
  '${{ a }} ',
  '"',
  '\\"',
  '"\\',
  '"\'',
  '\'\\"',
  '\\',
  ';',
  'a;',
  '<(',
  '>&',
  '#',
  ' #',
  '# \n',
  'echo ',
  'echo $(',
  "echo ';",
  '{',
  'if ',
  'echo; ',
  ' --dry-run',
  ' --dry-run=',
  ' ',
  '-',
];

describe('time', () => {
  it.each(PIECES)('%j over and over takes no more of it', (piece) => {
    const [word = ''] = piece.split(' ', 1);
    const long = piece.repeat(LONG / piece.length);
    for (const line of [`${long}!`, `${word}${long}!`, `echo "${long}`, `helm -a b ${long}\n`, `"${long}`])
      expect(
        timeOf(() => deployOf(line)),
        line.slice(0, 30),
      ).toBeLessThan(TIME_MAX_MS);
  });

  it.each(['helm', 'terraform', 'aws s3', 'gcloud', 'rsync', 'kubectl set', '; '])(
    'nor do spaces after %j',
    (word) => {
      for (const spaces of [2000, LONG / 2]) {
        const line = `${word}${' '.repeat(spaces)}`.repeat(Math.ceil(LONG / spaces));
        expect(timeOf(() => deployOf(`${line}!`))).toBeLessThan(TIME_MAX_MS);
      }
    },
  );

  it.each(['@', 'circleci/helm/', 'atlassian/deploy', 'deploy', '-', '/'])(
    'nor a part of many %j',
    (piece) => {
      for (const start of ['', 'atlassian/', 'circleci/helm/', 'actions/deploy-pages'])
        expect(
          timeOf(() =>
            signOfPart(signsOf({ lines: ['x'] }), `${start}${piece.repeat(LONG / piece.length)}\nx`, 1),
          ),
        ).toBeLessThan(TIME_MAX_MS);
    },
  );
});

/**
 * Measures processor time, and takes the best of three unless the first is good enough: the machine may be
 * busy with other things.
 */
function timeOf(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3 && best >= TIME_MAX_MS; time++) {
    const before = process.cpuUsage();
    run();
    best = Math.min(best, process.cpuUsage(before).user / 1000);
  }
  return best;
}
