// One operation through an npm client: every answer becomes a line of JSON; closing standard input unsubscribes.
// node follow.mjs ws|sse URL OPERATION RETRIES [TOKEN]

import process from 'node:process';

import { createClient as createStreamClient } from 'graphql-sse';
import { createClient as createSocketClient } from 'graphql-ws';
import WebSocket from 'ws';

const [transport, url, operation, retries, token] = process.argv.slice(2);
const credentials = token ? { authorization: `Bearer ${token}` } : {};

const CLIENTS = {
  ws: (retrying) =>
    createSocketClient({
      url: url.replace(/^http/, 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: credentials,
      // In Node a server that is not there yet is an error, in browsers a closed socket.
      shouldRetry: () => true,
      ...retrying,
    }),
  sse: (retrying) => createStreamClient({ url, headers: credentials, ...retrying }),
};

const show = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// A socket that was closed says why; a refused request has a status; an operation that was not run has errors.
const describe = (error) => {
  if (Array.isArray(error)) return { errors: error };
  if (error.response) return { status: error.response.status };
  return error.code ? { code: error.code, reason: error.reason } : { message: error.message };
};

const client = CLIENTS[transport]({
  retryAttempts: Number(retries),
  retryWait: () => new Promise((resolve) => setTimeout(resolve, 20)),
});

const end = (line) => {
  show(line);
  client.dispose();
  process.stdin.destroy();
};

const unsubscribe = client.subscribe(JSON.parse(operation), {
  next: (result) => show({ next: result }),
  error: (error) => end({ error: describe(error) }),
  complete: () => end({ complete: true }),
});

process.stdin.on('end', unsubscribe).resume();
