// Seals, opens and signs with WeCom's own library. Reads one JSON list of requests
// from standard input and writes the list of answers; random16 and random are hex.
//
//   {"op": "seal", "key", "text", "id", "random16"}  -> {"encrypt"}
//   {"op": "open", "key", "encrypt"}                 -> {"text", "id", "random"}
//   {"op": "sign", "token", "timestamp", "nonce", "encrypt"} -> {"signature"}
'use strict';

const { readFileSync } = require('fs');
const { decrypt, encrypt, getSignature } = require('@wecom/crypto');

const answers = JSON.parse(readFileSync(0, 'utf8')).map((r) => {
  switch (r.op) {
    case 'seal':
      return { encrypt: encrypt(r.key, r.text, r.id, r.random16 ? Buffer.from(r.random16, 'hex') : undefined) };
    case 'open': {
      const { message, id, random } = decrypt(r.key, r.encrypt);
      return { text: message, id, random: random.toString('hex') };
    }
    case 'sign':
      return { signature: getSignature(r.token, r.timestamp, r.nonce, r.encrypt) };
    default:
      throw new Error(`no such op: ${r.op}`);
  }
});
process.stdout.write(JSON.stringify(answers));
