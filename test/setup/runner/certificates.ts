/**
 * A private authority and a certificate for `localhost` and 127.0.0.1, made with openssl in a folder of its
 * own.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp-dir.ts';

export interface Certificates {
  caFile: string;
  ca: string;
  key: string;
  cert: string;
}

const REQUEST =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -config /dev/null'.split(' ');

/** @param names Of the server, as an extension of its certificate has them. */
export function makeCertificates(names = 'DNS:localhost,IP:127.0.0.1'): Certificates {
  const dir = tempDir();
  const at = (name: string) => join(dir, name);
  const make = (name: string, subject: string, ...more: string[]) => {
    const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
    execFileSync('openssl', [...REQUEST, '-subj', subject, ...files, ...more], { stdio: 'ignore' });
  };
  make('ca', '/CN=test authority', '-addext', 'basicConstraints=critical,CA:TRUE');
  const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key')];
  make('server', '/CN=localhost', '-addext', `subjectAltName=${names}`, ...signed);
  const read = (name: string) => readFileSync(at(name), 'utf8');
  return { caFile: at('ca.pem'), ca: read('ca.pem'), key: read('server.key'), cert: read('server.pem') };
}
