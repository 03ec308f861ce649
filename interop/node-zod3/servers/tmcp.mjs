// A small notes server on tmcp with valibot, over stdio, or with --http PORT over streamable HTTP at /mcp and
// HTTP+SSE at /sse.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRequestListener } from '@remix-run/node-fetch-server';
import { ValibotJsonSchemaAdapter } from '@tmcp/adapter-valibot';
import { HttpTransport } from '@tmcp/transport-http';
import { SseTransport } from '@tmcp/transport-sse';
import { StdioTransport } from '@tmcp/transport-stdio';
import { McpServer } from 'tmcp';
import { complete, prompt, resource, tool } from 'tmcp/utils';
import * as v from 'valibot';

const notes = new Map([
  ['groceries', 'Milk, eggs and flour.'],
  ['travel', 'The train leaves at nine. Pack the blue bag.'],
  ['ideas', 'Write a shorter readme.'],
]);

const names = start => [...notes.keys()].filter(name => name.startsWith(start ?? ''));
const readOnly = { readOnlyHint: true };

const server = new McpServer({ name: 'notes', version: '1.0.0', description: 'Keeps notes' }, {
  adapter: new ValibotJsonSchemaAdapter(),
  capabilities: {
    completions: {},
    logging: {},
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    tools: { listChanged: true },
  },
  pagination: { tools: { size: 4 } },
});

function changed() {
  server.changed('resources');
  server.changed('resource', 'notes://index');
}

server.tool({
  name: 'search_notes',
  title: 'Search notes',
  description: 'Find the notes whose text holds a phrase',
  schema: v.object({
    phrase: v.pipe(v.string(), v.description('Text to look for, case-insensitive')),
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(20)), 10),
  }),
  annotations: readOnly,
}, async ({ phrase, limit }) => {
  const found = [...notes].filter(([, note]) => note.toLowerCase().includes(phrase.toLowerCase()));
  return tool.text(found.slice(0, limit).map(([name, note]) => `${name}: ${note}`).join('\n') || 'nothing found');
});

server.tool({
  name: 'count_words',
  title: 'Count words',
  description: 'Count the words of all notes',
  outputSchema: v.object({ notes: v.pipe(v.number(), v.integer()), words: v.pipe(v.number(), v.integer()) }),
  annotations: readOnly,
}, async () => {
  const words = [...notes.values()].reduce((sum, note) => sum + note.split(/\s+/).length, 0);
  return tool.structured({ notes: notes.size, words });
});

server.tool({
  name: 'check_spelling',
  title: 'Check the spelling',
  description: 'Check the spelling of all notes',
  annotations: readOnly,
}, async () => {
  let checked = 0;
  for (const name of notes.keys()) {
    await sleep(100);
    server.log('debug', `checked ${name}`, 'notes');
    server.progress(++checked, notes.size);
  }
  server.log('warning', 'the dictionary is small', 'notes');
  return tool.text('no mistakes');
});

server.tool({
  name: 'summarize_note',
  title: 'Summarize a note',
  description: "Summarize a note with the client's model",
  schema: v.object({ name: v.pipe(v.string(), v.description('Name of the note')) }),
  annotations: readOnly,
}, async ({ name }) => {
  const answer = await server.message({
    messages: [{ role: 'user', content: { type: 'text', text: `Summarize: ${notes.get(name) ?? name}` } }],
    maxTokens: 100,
  });
  return tool.text(answer.content.type === 'text' ? answer.content.text : 'no summary');
});

server.tool({
  name: 'pick_note',
  title: 'Pick a note',
  description: 'Show the note that the user picks',
  annotations: readOnly,
}, async () => {
  const answer = await server.elicitation('Which note?', v.object({ name: v.string() }));
  return tool.text(answer.action === 'accept' ? notes.get(answer.content.name) ?? 'no such note' : 'none picked');
});

server.tool({
  name: 'add_note',
  title: 'Add a note',
  description: 'Add a note, or change its text',
  schema: v.object({ name: v.string(), text: v.string() }),
  annotations: { destructiveHint: false },
}, async ({ name, text }) => {
  notes.set(name, text);
  changed();
  return tool.text(`added ${name}`);
});

server.tool({
  name: 'delete_note',
  title: 'Delete a note',
  description: 'Delete a note by its name',
  schema: v.object({ name: v.string() }),
}, async ({ name }) => {
  if (!notes.delete(name)) {
    return tool.error(`there is no note named ${name}`);
  }
  changed();
  return tool.text(`deleted ${name}`);
});

server.resource({
  name: 'index',
  title: 'All notes',
  description: 'The names of all notes',
  uri: 'notes://index',
}, async uri => resource.text(uri, [...notes.keys()].join('\n'), 'text/plain'));

server.template({
  name: 'note',
  title: 'A note',
  description: 'The text of one note',
  uri: 'notes://note/{name}',
  complete: { name: async start => complete.values(names(start), false) },
  list: async () => names().map(name => ({ name, uri: `notes://note/${name}` })),
}, async (uri, { name }) => {
  if (!notes.has(name)) {
    throw new Error(`there is no note named ${name}`);
  }
  return resource.text(uri, notes.get(name), 'text/plain');
});

server.prompt({
  name: 'summarize',
  title: 'Summarize a note',
  description: 'Ask for a summary of one note',
  schema: v.object({ name: v.pipe(v.string(), v.description('Name of the note')) }),
  complete: { name: async start => complete.values(names(start), false) },
}, async ({ name }) => prompt.message(`Summarize this note: ${notes.get(name) ?? name}`));

const { values } = parseArgs({ options: { http: { type: 'string' } } });
if (values.http) {
  const transports = [
    new HttpTransport(server, { path: '/mcp' }),
    new SseTransport(server, { path: '/sse', endpoint: '/message' }),
  ];
  createServer(createRequestListener(async request => {
    for (const transport of transports) {
      const response = await transport.respond(request);
      if (response) {
        return response;
      }
    }
    return new Response(null, { status: 404 });
  })).listen(Number(values.http), '127.0.0.1');
} else {
  new StdioTransport(server).listen();
}
