/**
 * What a browser showed and waited for when its test failed: a timeout alone does not say whether a page was
 * slow, empty or refused.
 */
import type { BrowserContext, Page, Request } from 'playwright-core';
import { onTestFinished } from 'vitest';

const TEXT_MAX = 1_000;
const REQUESTS_MAX = 20;
/** A page that is stuck must not hold up the report. */
const ASK_WITHIN_MS = 2_000;

/** Closes the profile with the test that runs now, to whose error it adds what was seen if it fails. */
export function closeWithTest(context: BrowserContext): void {
  const waiting = new Set<Request>();
  const failed: string[] = [];
  context.on('request', (request) => void waiting.add(request));
  context.on('requestfinished', (request) => void waiting.delete(request));
  context.on('requestfailed', (request) => {
    waiting.delete(request);
    failed.push(`${nameOf(request)}: ${request.failure()?.errorText ?? 'no reason'}`);
  });
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== 'fail') return await context.close();
    const pages = await Promise.all(context.pages().map(describe));
    const seen = [
      ...pages,
      `requests without an answer: ${[...waiting].slice(-REQUESTS_MAX).map(nameOf).join(', ')}`,
      `requests that failed: ${failed.slice(-REQUESTS_MAX).join(', ')}`,
    ].join('\n');
    for (const error of task.result?.errors ?? []) error.message += `\n${seen}`;
    await context.close();
  });
}

const nameOf = (request: Request): string => `${request.method()} ${request.url()}`;

async function describe(page: Page): Promise<string> {
  const late = new Promise<string>((resolve) =>
    setTimeout(() => resolve(`nothing: it did not answer within ${ASK_WITHIN_MS} ms`), ASK_WITHIN_MS),
  );
  const text = page.evaluate<string>('document.body.innerText').catch(String);
  return `${page.url()} shows: ${(await Promise.race([text, late])).slice(0, TEXT_MAX)}`;
}
