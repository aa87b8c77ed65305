/** `svc agents approvals approve` lets nobody approve what was not shown. */
import { Agents, type AgentApproval } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { agree } from '../shell/confirm.ts';
import { answerOf } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';

export function approve(generated: GeneratedSpec): Own {
  return {
    ...generated,
    description:
      'Approves what an agent asked for: shows the request, asks, and prints the token, which is good once, for that very call, within 15 minutes. The agent sends it in the header Svc-Approval; svc takes it from SVC_APPROVAL. --yes answers in advance, and is required without a terminal. It takes a session.',
    examples: [
      {
        title: 'See what an agent asks for, and approve it',
        cli: 'agents approvals approve apr_01 --team team_01',
      },
    ],
    columns: [],
    secrets: ['token'],
    sessionOnly: true,
    answer: { approval: '*', token: '', expiresAt: '' },
    run: approveRequest,
  };
}

async function approveRequest(context: Context): Promise<void> {
  const { input, io, globals, output, signal } = context;
  const asked = await answerOf<AgentApproval>(context);
  const { id, agentId, agentName, action, resourceId, request } = asked;
  const what = neutraliseLine(`${action} on ${resourceId} by the agent ${agentName}`);
  await output.note(`${what}, as it asked at ${asked.createdAt}:`);
  await output.note(neutraliseLine(JSON.stringify(request ?? {})));
  if (!globals.yes)
    await agree(
      { io, globals },
      {
        refusal: `the approval of ${what} needs confirmation, and there is no terminal to ask on`,
        hint: 'add --yes to approve it without asking',
        question: 'Approve exactly this?',
      },
    );
  const agents = new Agents(await context.client());
  const params = { action, resourceId, approvalId: id };
  const granted = await agents.issueApprovalToken(String(input['teamId']), agentId, params, { signal });
  await output.value(granted);
  await output.note('the agent sends the token in the header Svc-Approval; svc takes it from SVC_APPROVAL');
}
