// A small notes server on the TypeScript SDK v2, for clients of both eras, over stdio, or with --http PORT
// over streamable HTTP at /mcp.
import { createServer as createHttpServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
  McpServer, ResourceNotFoundError, ResourceTemplate, acceptedContent, completable, createMcpHandler,
  inputRequired, inputResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const notes = new Map([
  ['groceries', 'Milk, eggs and flour.'],
  ['travel', 'The train leaves at nine. Pack the blue bag.'],
  ['ideas', 'Write a shorter readme.'],
]);

const text = line => ({ content: [{ type: 'text', text: line }] });
const names = start => [...notes.keys()].filter(name => name.startsWith(start ?? ''));

// Over HTTP each request has a server of its own: whom a change concerns only the handler knows, and of an
// earlier revision there is nobody to keep a subscription.
function createServer({ era, requestInfo }) {
  const subscribe = era === 'modern' || !requestInfo;
  const server = new McpServer({ name: 'notes', version: '1.0.0' }, {
    capabilities: { logging: {}, resources: { subscribe } },
  });
  const subscribed = new Set();

  async function changed() {
    if (requestInfo) {
      handler.notify.resourcesChanged();
      handler.notify.resourceUpdated('notes://index');
      return;
    }
    server.sendResourceListChanged();
    if (era === 'modern' || subscribed.has('notes://index')) {
      await server.server.sendResourceUpdated({ uri: 'notes://index' });
    }
  }

  server.registerTool('search_notes', {
    title: 'Search notes',
    description: 'Find the notes whose text holds a phrase',
    inputSchema: z.object({
      phrase: z.string().describe('Text to look for, case-insensitive'),
      limit: z.number().int().min(1).max(20).optional().describe('How many notes to return at most'),
    }),
    annotations: { readOnlyHint: true },
  }, async ({ phrase, limit = 10 }) => {
    const found = [...notes].filter(([, note]) => note.toLowerCase().includes(phrase.toLowerCase()));
    return text(found.slice(0, limit).map(([name, note]) => `${name}: ${note}`).join('\n') || 'nothing found');
  });

  server.registerTool('count_words', {
    title: 'Count words',
    description: 'Count the words of all notes',
    outputSchema: z.object({ notes: z.number().int(), words: z.number().int() }),
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
  }, async ctx => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    let progress = 0;
    for (const name of notes.keys()) {
      await sleep(100, undefined, { signal: ctx.mcpReq.signal });
      await ctx.mcpReq.log('debug', `checked ${name}`, 'notes');
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress: ++progress, total: notes.size },
        });
      }
    }
    await ctx.mcpReq.log('warning', 'the dictionary is small', 'notes');
    return text('no mistakes');
  });

  server.registerTool('summarize_note', {
    title: 'Summarize a note',
    description: "Summarize a note with the client's model",
    inputSchema: z.object({ name: z.string().describe('Name of the note') }),
    annotations: { readOnlyHint: true },
  }, async ({ name }, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'summary');
    if (answer.kind !== 'sampling') {
      const messages = [{ role: 'user', content: { type: 'text', text: `Summarize: ${notes.get(name) ?? name}` } }];
      return inputRequired({ inputRequests: { summary: inputRequired.createMessage({ messages, maxTokens: 100 }) } });
    }
    return text(answer.result.content.type === 'text' ? answer.result.content.text : 'no summary');
  });

  server.registerTool('pick_note', {
    title: 'Pick a note',
    description: 'Show the note that the user picks',
    annotations: { readOnlyHint: true },
  }, async ctx => {
    const requestedSchema = z.object({ name: z.string() });
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'note');
    if (answer.kind !== 'elicit') {
      const note = inputRequired.elicit({ message: 'Which note?', requestedSchema });
      return inputRequired({ inputRequests: { note } });
    }
    const picked = acceptedContent(ctx.mcpReq.inputResponses, 'note', requestedSchema);
    return text(picked ? notes.get(picked.name) ?? 'no such note' : 'none picked');
  });

  server.registerTool('list_folders', {
    title: 'List folders',
    description: 'List the folders that the client works in',
    annotations: { readOnlyHint: true },
  }, async ctx => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'folders');
    if (answer.kind !== 'roots') {
      return inputRequired({ inputRequests: { folders: inputRequired.listRoots() } });
    }
    return text(answer.roots.map(root => root.uri).join('\n'));
  });

  server.registerTool('add_note', {
    title: 'Add a note',
    description: 'Add a note, or change its text',
    inputSchema: z.object({ name: z.string(), text: z.string() }),
    annotations: { destructiveHint: false },
  }, async ({ name, text: note }, ctx) => {
    notes.set(name, note);
    await ctx.mcpReq.log('info', `added ${name}`, 'notes');
    await changed();
    return text(`added ${name}`);
  });

  server.registerTool('delete_note', {
    title: 'Delete a note',
    description: 'Delete a note by its name',
    inputSchema: z.object({ name: z.string() }),
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
      throw new ResourceNotFoundError(uri.href);
    }
    return { contents: [{ uri: uri.href, text: notes.get(name) }] };
  });

  if (era === 'legacy' && subscribe) {
    server.server.setRequestHandler('resources/subscribe', async ({ params }) => {
      subscribed.add(params.uri);
      return {};
    });
    server.server.setRequestHandler('resources/unsubscribe', async ({ params }) => {
      subscribed.delete(params.uri);
      return {};
    });
  }

  server.registerPrompt('summarize', {
    title: 'Summarize a note',
    description: 'Ask for a summary of one note',
    argsSchema: z.object({ name: completable(z.string().describe('Name of the note'), names) }),
  }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Summarize this note: ${notes.get(name) ?? name}` } }],
  }));

  return server;
}

const handler = createMcpHandler(createServer);
const { values } = parseArgs({ options: { http: { type: 'string' } } });
if (values.http) {
  const [hostIsLocal, originIsLocal] = [localhostHostValidation(), localhostOriginValidation()];
  const serve = toNodeHandler(handler);
  createHttpServer(async (req, res) => {
    if (hostIsLocal(req, res) && originIsLocal(req, res)) {
      await serve(req, res);
    }
  }).listen(Number(values.http), '127.0.0.1');
} else {
  serveStdio(createServer);
}
