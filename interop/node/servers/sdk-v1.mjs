// A small notes server on the TypeScript SDK v1, over stdio, or with --http PORT over streamable HTTP at
// /mcp, where --stateless keeps no sessions and --json answers with no streams, and HTTP+SSE at /sse.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const notes = new Map([
  ['groceries', 'Milk, eggs and flour.'],
  ['travel', 'The train leaves at nine. Pack the blue bag.'],
  ['ideas', 'Write a shorter readme.'],
]);

const text = line => ({ content: [{ type: 'text', text: line }] });
const names = start => [...notes.keys()].filter(name => name.startsWith(start ?? ''));

// Where each request has a server of its own, there is nobody to keep a subscription.
function createServer(subscribe = true) {
  const subscribed = new Set();
  const server = new McpServer({ name: 'notes', version: '1.0.0' }, {
    capabilities: { logging: {}, resources: { subscribe } },
  });

  async function changed() {
    server.sendResourceListChanged();
    if (subscribed.has('notes://index')) {
      await server.server.sendResourceUpdated({ uri: 'notes://index' });
    }
  }

  server.registerTool('search_notes', {
    title: 'Search notes',
    description: 'Find the notes whose text holds a phrase',
    inputSchema: {
      phrase: z.string().describe('Text to look for, case-insensitive'),
      limit: z.number().int().min(1).max(20).optional().describe('How many notes to return at most'),
    },
    annotations: { readOnlyHint: true },
  }, async ({ phrase, limit = 10 }) => {
    const found = [...notes].filter(([, note]) => note.toLowerCase().includes(phrase.toLowerCase()));
    return text(found.slice(0, limit).map(([name, note]) => `${name}: ${note}`).join('\n') || 'nothing found');
  });

  server.registerTool('count_words', {
    title: 'Count words',
    description: 'Count the words of all notes',
    outputSchema: { notes: z.number().int(), words: z.number().int() },
    annotations: { readOnlyHint: true },
  }, async () => {
    const words = [...notes.values()].reduce((sum, note) => sum + note.split(/\s+/).length, 0);
    const output = { notes: notes.size, words };
    return { ...text(JSON.stringify(output)), structuredContent: output };
  });

  server.registerTool('check_spelling', {
    title: 'Check the spelling',
    description: 'Check the spelling of all notes',
    annotations: { readOnlyHint: true },
  }, async extra => {
    const progressToken = extra._meta?.progressToken;
    let progress = 0;
    for (const name of notes.keys()) {
      await sleep(100, undefined, { signal: extra.signal });
      await server.sendLoggingMessage({ level: 'debug', logger: 'notes', data: `checked ${name}` }, extra.sessionId);
      if (progressToken !== undefined) {
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress: ++progress, total: notes.size },
        });
      }
    }
    await server.sendLoggingMessage({ level: 'warning', logger: 'notes', data: 'the dictionary is small' }, extra.sessionId);
    return text('no mistakes');
  });

  server.registerTool('summarize_note', {
    title: 'Summarize a note',
    description: "Summarize a note with the client's model",
    inputSchema: { name: z.string().describe('Name of the note') },
    annotations: { readOnlyHint: true },
  }, async ({ name }) => {
    const answer = await server.server.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: `Summarize: ${notes.get(name) ?? name}` } }],
      maxTokens: 100,
    });
    return text(answer.content.type === 'text' ? answer.content.text : 'no summary');
  });

  server.registerTool('pick_note', {
    title: 'Pick a note',
    description: 'Show the note that the user picks',
    annotations: { readOnlyHint: true },
  }, async () => {
    const answer = await server.server.elicitInput({
      message: 'Which note?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'Name' } }, required: ['name'] },
    });
    return text(answer.action === 'accept' ? notes.get(answer.content.name) ?? 'no such note' : 'none picked');
  });

  server.registerTool('list_folders', {
    title: 'List folders',
    description: 'List the folders that the client works in',
    annotations: { readOnlyHint: true },
  }, async () => {
    const { roots } = await server.server.listRoots();
    return text(roots.map(root => root.uri).join('\n'));
  });

  server.registerTool('add_note', {
    title: 'Add a note',
    description: 'Add a note, or change its text',
    inputSchema: { name: z.string(), text: z.string() },
    annotations: { destructiveHint: false },
  }, async ({ name, text: note }, extra) => {
    notes.set(name, note);
    await server.sendLoggingMessage({ level: 'info', logger: 'notes', data: `added ${name}` }, extra.sessionId);
    await changed();
    return text(`added ${name}`);
  });

  server.registerTool('delete_note', {
    title: 'Delete a note',
    description: 'Delete a note by its name',
    inputSchema: { name: z.string() },
  }, async ({ name }) => {
    if (!notes.delete(name)) {
      throw new Error(`there is no note named ${name}`);
    }
    await changed();
    return text(`deleted ${name}`);
  });

  server.registerResource('index', 'notes://index', {
    title: 'All notes',
    description: 'The names of all notes',
    mimeType: 'text/plain',
  }, async uri => ({ contents: [{ uri: uri.href, text: [...notes.keys()].join('\n') }] }));

  server.registerResource('note', new ResourceTemplate('notes://note/{name}', {
    list: () => ({ resources: names().map(name => ({ name, uri: `notes://note/${name}` })) }),
    complete: { name: names },
  }), {
    title: 'A note',
    description: 'The text of one note',
    mimeType: 'text/plain',
  }, async (uri, { name }) => {
    if (!notes.has(name)) {
      throw new Error(`there is no note named ${name}`);
    }
    return { contents: [{ uri: uri.href, text: notes.get(name) }] };
  });

  if (subscribe) {
    server.server.setRequestHandler(SubscribeRequestSchema, async ({ params }) => {
      subscribed.add(params.uri);
      return {};
    });
    server.server.setRequestHandler(UnsubscribeRequestSchema, async ({ params }) => {
      subscribed.delete(params.uri);
      return {};
    });
  }

  server.registerPrompt('summarize', {
    title: 'Summarize a note',
    description: 'Ask for a summary of one note',
    argsSchema: { name: completable(z.string().describe('Name of the note'), names) },
  }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Summarize this note: ${notes.get(name) ?? name}` } }],
  }));

  return server;
}

const { values } = parseArgs({
  options: { http: { type: 'string' }, stateless: { type: 'boolean' }, json: { type: 'boolean' } },
});
if (values.http) {
  const { serveHttp } = await import('./sdk-v1-http.mjs');
  serveHttp(createServer, Number(values.http), values);
} else {
  await createServer().connect(new StdioServerTransport());
}
