import { describe, expect, it } from 'vitest';
import { createStamper } from './stamps.ts';

describe('times in front of lines', () => {
  it('stand once in front of each line, however it was cut, of each stream for itself', () => {
    const stamper = createStamper();
    const out: string[] = [];
    const say = (stream: string, text: string, time: string) => out.push(stamper.stamp(stream, text, time));
    say('stdout', 'on', '1');
    say('stderr', 'err\n', '2');
    say('stdout', 'e\ntwo\n\nth', '3');
    say('stdout', '', '4');
    say('stdout', 'ree\n', '5');
    expect(out).toEqual(['1 on', '2 err\n', 'e\n3 two\n3 \n3 th', '', 'ree\n']);
  });
});
