/**
 * The transcript of the demo is printed here: numbered steps with the time since the start, indented lines,
 * and output of runs set apart.
 */

export function createTranscript() {
  const startedAt = performance.now();
  const colour = process.stdout.isTTY && !process.env.NO_COLOR;
  const paint = (code, text) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  let steps = 0;
  let midLine = false;

  const closeLine = () => {
    if (midLine) process.stdout.write('\n');
    midLine = false;
  };

  return {
    step(title) {
      closeLine();
      steps += 1;
      console.log(`\n${paint(1, `${steps}. ${title}`)} ${paint(2, `(${seconds()})`)}`);
    },
    line(text) {
      closeLine();
      console.log(`   ${text}`);
    },
    output(text) {
      for (const piece of text.split(/(?<=\n)/)) {
        process.stdout.write(midLine ? piece : paint(36, '   │ ') + piece);
        midLine = !piece.endsWith('\n');
      }
    },
    end(text) {
      closeLine();
      console.log(`\n${text} (${seconds()})`);
    },
  };
}
