import { describe, expect, it } from 'vitest';
import { testContext } from '../../test/setup/runner/build-context.ts';
import { checkSyntax, featuresIn, problemOfSyntax, unreadSyntax } from './engine-syntax.ts';

const names = (text: string) => featuresIn(text).map(({ name, line }) => `${line} ${name}`);

describe('what an engine reads only from some version on', () => {
  it.each([
    ['FROM a\nRUN <<EOF\nset -e\nEOF', '2 here-documents (<<EOF)'],
    ['FROM a\nRUN cat <<-"END" >/x\n\tone\n\tEND', '2 here-documents (<<EOF)'],
    ['FROM a\nUSER x\nCOPY --chown=1 <<conf /etc/x\ny\nconf\n', '3 here-documents (<<EOF)'],
    ['FROM x AS build-amd64\nFROM build-${TARGETARCH}', '2 variables of the platform'],
    ['FROM --platform=linux/amd64 golang:$TARGETOS', '1 variables of the platform'],
    ['FROM a\nCOPY --from=b --link /x /y', '2 COPY --link'],
    ['FROM a\nadd --link=true x /y', '2 COPY --link'],
  ])('finds it in %j', (text, expected) => {
    expect(names(text)).toHaveLength(1);
    expect(names(text)[0]).toContain(expected);
  });

  it.each([
    "FROM a\nRUN printf 'cat <<EOF\\nx\\nEOF\\n' | sh",
    'FROM a\nRUN cat <<<EOF\n# EOF\n',
    'FROM --platform=$BUILDPLATFORM a\nARG TARGETARCH\nRUN echo $TARGETARCH',
    'FROM a\nCOPY --linked x /y\nCOPY x --link',
  ])('leaves %j alone', (text) => expect(names(text)).toEqual([]));

  it('says the line, the least version and the one that is here', () => {
    const used = featuresIn('FROM a\nCOPY --link x /y\nRUN <<EOF\nEOF\n');
    expect(problemOfSyntax('podman', '4.3.1', used)).toBe(
      'line 3 of the Dockerfile has here-documents (<<EOF): podman reads that from 4.9 on, and this runner has podman 4.3.1; upgrade podman on the runner, or write the line without it',
    );
    expect(problemOfSyntax('podman', '5.4.2', used)).toMatch(/^line 2 .* COPY --link .* from 5\.6 on/);
    expect(problemOfSyntax('docker', '20.10.5', used)).toContain('docker reads that from 23.0 on');
    for (const [engine, version] of [
      ['podman', '5.6.0'],
      ['podman', '6.0'],
      ['docker', '27.1'],
      ['podman', 'unknown'],
    ] as const)
      expect(problemOfSyntax(engine, version, used)).toBeUndefined();
    expect(unreadSyntax('podman', '4.3.1').map((each) => /\(from (.*)\)$/.exec(each)?.[1])).toEqual([
      'podman 4.9',
      'podman 4.4',
      'podman 5.6',
    ]);
  });

  it('ends a build before its engine begins', async () => {
    const { engine, fake } = await testContext();
    fake('podman', 'echo podman version 4.3.1');
    await expect(checkSyntax(engine.engine, 'FROM a\nCOPY --link x /y')).rejects.toThrow('podman 4.3.1');
    fake('podman', 'exit 1');
    await expect(checkSyntax(engine.engine, 'FROM a\nCOPY --link x /y')).resolves.toBeUndefined();
  });
});
