// A small notes server on mcp-framework, over stdio, or with --http PORT over streamable HTTP at /mcp, where --json
// answers with no streams, or with --sse PORT over HTTP+SSE at /sse.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MCPPrompt, MCPResource, MCPServer, MCPTool } from 'mcp-framework';
import { z } from 'zod';

const notes = new Map([
  ['groceries', 'Milk, eggs and flour.'],
  ['travel', 'The train leaves at nine. Pack the blue bag.'],
  ['ideas', 'Write a shorter readme.'],
]);

const names = start => [...notes.keys()].filter(name => name.startsWith(start ?? ''));

class SearchNotes extends MCPTool {
  name = 'search_notes';
  title = 'Search notes';
  description = 'Find the notes whose text holds a phrase';
  annotations = { readOnlyHint: true };
  schema = z.object({
    phrase: z.string().describe('Text to look for, case-insensitive'),
    limit: z.number().int().min(1).max(20).optional().describe('How many notes to return at most'),
  });

  async execute({ phrase, limit = 10 }) {
    const found = [...notes].filter(([, note]) => note.toLowerCase().includes(phrase.toLowerCase()));
    return found.slice(0, limit).map(([name, note]) => `${name}: ${note}`).join('\n') || 'nothing found';
  }
}

class CountWords extends MCPTool {
  name = 'count_words';
  title = 'Count words';
  description = 'Count the words of all notes';
  annotations = { readOnlyHint: true };
  schema = z.object({});
  outputSchemaShape = z.object({ notes: z.number().int(), words: z.number().int() });

  async execute() {
    const words = [...notes.values()].reduce((sum, note) => sum + note.split(/\s+/).length, 0);
    return { notes: notes.size, words };
  }
}

class CheckSpelling extends MCPTool {
  name = 'check_spelling';
  title = 'Check the spelling';
  description = 'Check the spelling of all notes';
  annotations = { readOnlyHint: true };
  schema = z.object({});

  async execute() {
    let checked = 0;
    for (const name of notes.keys()) {
      await sleep(100);
      await this.log('debug', `checked ${name}`);
      await this.reportProgress(++checked, notes.size);
    }
    await this.log('warning', 'the dictionary is small');
    return 'no mistakes';
  }
}

class SummarizeNote extends MCPTool {
  name = 'summarize_note';
  title = 'Summarize a note';
  description = "Summarize a note with the client's model";
  annotations = { readOnlyHint: true };
  schema = z.object({ name: z.string().describe('Name of the note') });

  async execute({ name }) {
    const answer = await this.samplingRequest({
      messages: [{ role: 'user', content: { type: 'text', text: `Summarize: ${notes.get(name) ?? name}` } }],
      maxTokens: 100,
    });
    return answer.content.type === 'text' ? answer.content.text : 'no summary';
  }
}

class PickNote extends MCPTool {
  name = 'pick_note';
  title = 'Pick a note';
  description = 'Show the note that the user picks';
  annotations = { readOnlyHint: true };
  schema = z.object({});

  async execute() {
    const answer = await this.elicit('Which note?', { name: { type: 'string', title: 'Name' } });
    return answer.action === 'accept' ? notes.get(answer.content.name) ?? 'no such note' : 'none picked';
  }
}

class ListFolders extends MCPTool {
  name = 'list_folders';
  title = 'List folders';
  description = 'List the folders that the client works in';
  annotations = { readOnlyHint: true };
  schema = z.object({});

  async execute() {
    return (await this.getRoots()).map(root => root.uri).join('\n');
  }
}

class AddNote extends MCPTool {
  name = 'add_note';
  title = 'Add a note';
  description = 'Add a note, or change its text';
  annotations = { destructiveHint: false };
  schema = z.object({ name: z.string().describe('Name of the note'), text: z.string().describe('Its text') });

  async execute({ name, text }) {
    notes.set(name, text);
    return `added ${name}`;
  }
}

class Index extends MCPResource {
  uri = 'notes://index';
  name = 'index';
  title = 'All notes';
  description = 'The names of all notes';
  mimeType = 'text/plain';

  async read() {
    return [{ uri: this.uri, mimeType: this.mimeType, text: [...notes.keys()].join('\n') }];
  }
}

class Summarize extends MCPPrompt {
  name = 'summarize';
  title = 'Summarize a note';
  description = 'Ask for a summary of one note';
  schema = { name: { type: z.string(), description: 'Name of the note', required: true } };

  async generateMessages({ name }) {
    const text = `Summarize this note: ${notes.get(name) ?? name}`;
    return [{ role: 'user', content: { type: 'text', text } }];
  }

  async complete(argument, start) {
    return { values: argument === 'name' ? names(start) : [] };
  }
}

const { values } = parseArgs({
  options: { http: { type: 'string' }, sse: { type: 'string' }, json: { type: 'boolean' } },
});
let transport = { type: 'stdio' };
if (values.http) {
  const responseMode = values.json ? 'batch' : 'stream';
  transport = { type: 'http-stream', options: { port: Number(values.http), responseMode } };
} else if (values.sse) {
  transport = { type: 'sse', options: { port: Number(values.sse) } };
}
// The framework looks for further tools below the base path, which holds none.
const basePath = fileURLToPath(new URL('.', import.meta.url));
const server = new MCPServer({ name: 'notes', version: '1.0.0', basePath, logging: true, transport });
for (const Tool of [SearchNotes, CountWords, CheckSpelling, SummarizeNote, PickNote, ListFolders, AddNote]) {
  server.addTool(Tool);
}
server.addResource(Index);
server.addPrompt(Summarize);
server.start();
