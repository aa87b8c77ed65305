import { writeThirdParty } from './third-party.ts';

writeThirdParty(process.cwd());
