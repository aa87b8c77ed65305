/**
 * This view is for an environment of which nothing was built or run. It says how something comes to be here.
 */
import type { Environment } from '@svc/sdk';
import { CopyLine } from '../../copy.tsx';
import { projectHref } from '../../place.ts';
import { follow } from '../../router.ts';

export function NoneYet({ environment }: { readonly environment: Environment }) {
  return (
    <div class="empty empty-how">
      <h2>Nothing was built or run for {environment.name} yet</h2>
      <p>
        Builds of this service show up here by themselves, and so does what your CI runs, once it is
        connected:
      </p>
      <ol class="steps-plain">
        <li>
          <p>Connect the repository; this prints the id of the connection.</p>
          <CopyLine name="the command to connect" text={connectCommand(environment)} />
        </li>
        <li>
          <p>
            Report from inside of a CI job, with an API key of scope <code>ci:write</code>.
          </p>
          <CopyLine
            name="the command to report"
            text={`svc ci report --connection CONNECTION_ID --env ${environment.id} -- npm test`}
          />
        </li>
      </ol>
      <a class="button" href={projectHref(environment.projectId, environment.id, 'builds')} onClick={follow}>
        Build it here
      </a>
    </div>
  );
}

/**
 * Returns the command that connects the repository that is built here, with the CI system of its host where
 * that is known.
 */
function connectCommand({ teamId, repository }: Environment): string {
  const url = new URL(
    repository !== undefined && URL.canParse(repository) ? repository : 'https://github.com/acme/web',
  );
  const provider = /(github|gitlab|bitbucket)/.exec(url.host)?.[1] ?? 'generic';
  const repo = `${url.host}${url.pathname.replace(/\/$|\.git$/, '')}`;
  return `svc ci connect --team ${teamId} --provider ${provider} --repo ${repo}`;
}
