// A small notes server on the TypeScript SDK v2, over stdio, for clients of both eras.
import { McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const notes = new Map([
  ['groceries', 'Milk, eggs and flour.'],
  ['travel', 'The train leaves at nine. Pack the blue bag.'],
  ['ideas', 'Write a shorter readme.'],
]);

function createServer() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });

  server.registerTool('search_notes', {
    title: 'Search notes',
    description: 'Find the notes whose text holds a phrase',
    inputSchema: z.object({
      phrase: z.string().describe('Text to look for, case-insensitive'),
      limit: z.number().int().min(1).max(20).optional().describe('How many notes to return at most'),
    }),
    annotations: { readOnlyHint: true },
  }, async ({ phrase, limit = 10 }) => {
    const found = [...notes].filter(([, text]) => text.toLowerCase().includes(phrase.toLowerCase()));
    const lines = found.slice(0, limit).map(([name, text]) => `${name}: ${text}`);
    return { content: [{ type: 'text', text: lines.join('\n') || 'nothing found' }] };
  });

  server.registerTool('count_words', {
    title: 'Count words',
    description: 'Count the words of all notes',
    outputSchema: z.object({ notes: z.number().int(), words: z.number().int() }),
    annotations: { readOnlyHint: true },
  }, async () => {
    const words = [...notes.values()].reduce((sum, text) => sum + text.split(/\s+/).length, 0);
    const output = { notes: notes.size, words };
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output };
  });

  server.registerTool('delete_note', {
    title: 'Delete a note',
    description: 'Delete a note by its name',
    inputSchema: z.object({ name: z.string() }),
  }, async ({ name }) => {
    if (!notes.delete(name)) {
      throw new Error(`there is no note named ${name}`);
    }
    return { content: [{ type: 'text', text: `deleted ${name}` }] };
  });

  server.registerResource('index', 'notes://index', {
    title: 'All notes',
    description: 'The names of all notes',
    mimeType: 'text/plain',
  }, async uri => ({ contents: [{ uri: uri.href, text: [...notes.keys()].join('\n') }] }));

  server.registerResource('note', new ResourceTemplate('notes://note/{name}', { list: undefined }), {
    title: 'A note',
    description: 'The text of one note',
    mimeType: 'text/plain',
  }, async (uri, { name }) => {
    if (!notes.has(name)) {
      throw new ResourceNotFoundError(uri.href);
    }
    return { contents: [{ uri: uri.href, text: notes.get(name) }] };
  });

  server.registerPrompt('summarize', {
    title: 'Summarize a note',
    description: 'Ask for a summary of one note',
    argsSchema: z.object({ name: z.string().describe('Name of the note') }),
  }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Summarize this note: ${notes.get(name) ?? name}` } }],
  }));

  return server;
}

serveStdio(createServer);
