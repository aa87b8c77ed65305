import {
  SvcAbortError,
  SvcApiError,
  SvcConnectionError,
  SvcNotFoundError,
  SvcTimeoutError,
  SvcUnauthenticatedError,
} from '@svc/sdk';
import { describe, expect, it } from 'vitest';
import { fakeIo } from '../testing/fake-io.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { Interrupted } from './io.ts';
import { reportError, type Reported } from './report.ts';

function answered(status: number, code: string, message = 'it failed', details?: unknown) {
  const body = {
    error: {
      code,
      message,
      requestId: 'req_1',
      retryable: false,
      ...(details === undefined ? {} : { details }),
    },
  };
  return { status, code, body, retryable: false, requestId: 'req_1', headers: new Headers() };
}

async function reported(error: unknown, how: Partial<Reported> = {}): Promise<string> {
  const io = fakeIo();
  await reportError(error, io, { json: false, debug: false, ...how });
  expect(io.out()).toBe('');
  return io.err();
}

describe('exitCodeOf()', () => {
  it.each([
    [new UsageError('x'), EXIT.usage],
    [new SvcUnauthenticatedError('x', answered(401, 'credentials_invalid')), EXIT.auth],
    [new SvcNotFoundError('x', answered(404, 'not_found')), EXIT.notFound],
    [new SvcApiError('x', answered(403, 'scope_missing')), EXIT.failed],
    [new SvcApiError('x', answered(500, 'internal')), EXIT.failed],
    [new SvcTimeoutError('x'), EXIT.unreachable],
    [new SvcConnectionError('x'), EXIT.unreachable],
    [new SvcAbortError('x', { cause: new Interrupted(130) }), EXIT.interrupted],
    [new Interrupted(143), 143],
    [new CliError('declined', 'x'), EXIT.failed],
    [new CliError('timeout', 'x', { exitCode: EXIT.unreachable }), EXIT.unreachable],
    [new Error('bug'), EXIT.failed],
  ])('%s', (error, code) => expect(exitCodeOf(error)).toBe(code));
});

describe('reportError()', () => {
  it('says message, code and request id', async () => {
    const error = new SvcNotFoundError('run run_1 not found', answered(404, 'not_found'));
    expect(await reported(error)).toBe('svc: run run_1 not found (not_found, request req_1)\n');
  });

  it('says each problem of a document, and each rule that refuses', async () => {
    const problems = [
      { where: '/x', message: 'the member "x" is unknown' },
      { where: '/rules/0/require', position: 6, message: 'there is no field "brnch"', suggestion: 'branch' },
      { where: '', message: 'the document has 70000 bytes: 65536 are the limit' },
    ];
    const document = answered(400, 'policy_document_invalid', 'the document has 3 problems', { problems });
    expect(
      (await reported(new SvcApiError('the document has 3 problems', document))).split('\n').slice(1),
    ).toEqual([
      '  /x: the member "x" is unknown',
      '  /rules/0/require at character 6: there is no field "brnch"; did you mean "branch"?',
      '  the document: the document has 70000 bytes: 65536 are the limit',
      '',
    ]);
    const failed = ['build main', 'the rule "old" could not be judged: index 7 out of bounds'].map(
      (message) => ({
        policyId: 'pol_1',
        ruleId: 'r',
        message,
      }),
    );
    const denied = answered(403, 'policy_denied', 'build main', { failed });
    expect((await reported(new SvcApiError('build main', denied))).split('\n').slice(1)).toEqual([
      '  the rule "old" could not be judged: index 7 out of bounds',
      '',
    ]);
  });

  it('says each field of a refused request', async () => {
    const details = { fields: [{ field: 'command', rule: 'min_items', message: 'at least 1 item' }] };
    const error = new SvcApiError('invalid request', answered(400, 'validation_failed', 'x', details));
    expect(await reported(error)).toContain('\n  command: at least 1 item\n');
    const whole = new SvcApiError(
      'command: at least 1 item',
      answered(400, 'validation_failed', 'x', details),
    );
    expect((await reported(whole)).split('at least')).toHaveLength(2);
  });

  it('prints the error object of the API as JSON, word for word', async () => {
    const fields = answered(404, 'not_found', 'no such run');
    expect(JSON.parse(await reported(new SvcNotFoundError('no such run', fields), { json: true }))).toEqual(
      fields.body,
    );
  });

  it('prints errors of its own in the same shape', async () => {
    expect(JSON.parse(await reported(new UsageError('wrong', { hints: ['right'] }), { json: true }))).toEqual(
      {
        error: { code: 'usage', message: 'wrong', retryable: false, hints: ['right'] },
      },
    );
    expect(JSON.parse(await reported(new SvcConnectionError('no answer'), { json: true }))).toEqual({
      error: { code: 'connection_failed', message: 'no answer', retryable: true },
    });
    expect(JSON.parse(await reported(new Error('bug'), { json: true }))).toMatchObject({
      error: { code: 'internal' },
    });
  });

  it('advises after a 401 by where the credential came from', async () => {
    const error = new SvcUnauthenticatedError('no', answered(401, 'credentials_invalid'));
    expect(await reported(error)).toContain('run "svc auth login"');
    expect(await reported(error, { credentialSource: 'SVC_API_KEY' })).toContain(
      'the credential came from SVC_API_KEY',
    );
    expect(await reported(error, { withheld: true })).toContain('belongs to another address');
  });

  it('names the address when nobody answers', async () => {
    expect(await reported(new SvcConnectionError('refused'), { baseUrl: 'http://x' })).toContain(
      'the address is http://x;',
    );
  });

  it('never shows a stack without --debug', async () => {
    const error = new Error('bug');
    expect(await reported(error)).toBe('svc: bug\n');
    expect(await reported(error, { debug: true })).toContain('report.test.ts');
  });

  it('makes escape sequences of the server harmless', async () => {
    const error = new SvcApiError('bad \u001b[2J\nname', answered(400, 'x'));
    expect(await reported(error)).toBe('svc: bad \\x1b[2J\\nname (x, request req_1)\n');
  });

  it('is silent about Ctrl-C', async () => {
    expect(await reported(new SvcAbortError('x', { cause: new Interrupted(130) }))).toBe('');
    expect(await reported(new Interrupted(130))).toBe('');
  });
});
