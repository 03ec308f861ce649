"""A small notes server on the Python SDK, over stdio, or over HTTP.

usage: server.py [streamable-http PORT | sse PORT]
"""

import sys
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.types import (
    Completion,
    CreateMessageResult,
    ListRootsResult,
    PromptReference,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel

notes = {
    "groceries": "Milk, eggs and flour.",
    "travel": "The train leaves at nine. Pack the blue bag.",
    "ideas": "Write a shorter readme.",
}

mcp = MCPServer("notes", version="1.0.0")
read_only = ToolAnnotations(read_only_hint=True)


class Count(BaseModel):
    notes: int
    words: int


class Choice(BaseModel):
    name: str


@mcp.tool(annotations=read_only)
def search_notes(phrase: str, limit: int = 10) -> str:
    """Find the notes whose text holds a phrase."""
    found = [f"{name}: {text}" for name, text in notes.items() if phrase.lower() in text.lower()]
    return "\n".join(found[:limit]) or "nothing found"


@mcp.tool(annotations=read_only)
def count_words() -> Count:
    """Count the words of all notes."""
    return Count(notes=len(notes), words=sum(len(text.split()) for text in notes.values()))


@mcp.tool(annotations=read_only)
async def check_spelling(ctx: Context) -> str:
    """Check the spelling of all notes."""
    for i, name in enumerate(list(notes)):
        await anyio.sleep(0.1)
        await ctx.debug(f"checked {name}")
        await ctx.report_progress(i + 1, len(notes))
    await ctx.warning("the dictionary is small")
    return "no mistakes"


def ask_model(name: str) -> Sample:
    text = TextContent(type="text", text=f"Summarize: {notes.get(name, name)}")
    return Sample([SamplingMessage(role="user", content=text)], max_tokens=100)


@mcp.tool(annotations=read_only)
def summarize_note(name: str, answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Summarize a note with the client's model."""
    return answer.content.text if isinstance(answer.content, TextContent) else "no summary"


def ask_user() -> Elicit[Choice]:
    return Elicit("Which note?", Choice)


@mcp.tool(annotations=read_only)
def pick_note(choice: Annotated[Choice, Resolve(ask_user)]) -> str:
    """Show the note that the user picks."""
    return notes.get(choice.name, "no such note")


def ask_folders() -> ListRoots:
    return ListRoots()


@mcp.tool(annotations=read_only)
def list_folders(folders: Annotated[ListRootsResult, Resolve(ask_folders)]) -> str:
    """List the folders that the client works in."""
    return "\n".join(str(root.uri) for root in folders.roots)


@mcp.tool(annotations=ToolAnnotations(destructive_hint=False))
async def add_note(name: str, text: str, ctx: Context) -> str:
    """Add a note, or change its text."""
    notes[name] = text
    await ctx.info(f"added {name}")
    await ctx.notify_resource_updated("notes://index")
    return f"added {name}"


@mcp.tool()
async def delete_note(name: str, ctx: Context) -> str:
    """Delete a note by its name."""
    if name not in notes:
        raise ToolError(f"there is no note named {name}")
    del notes[name]
    await ctx.notify_resource_updated("notes://index")
    return f"deleted {name}"


@mcp.resource("notes://index", mime_type="text/plain")
def index() -> str:
    """The names of all notes."""
    return "\n".join(notes)


@mcp.resource("notes://note/{name}", mime_type="text/plain")
def note(name: str) -> str:
    """The text of one note."""
    if name not in notes:
        raise ResourceNotFoundError(f"there is no note named {name}")
    return notes[name]


@mcp.prompt()
def summarize(name: str) -> str:
    """Ask for a summary of one note."""
    return f"Summarize this note: {notes.get(name, name)}"


@mcp.completion()
async def complete(ref, argument, context) -> Completion | None:
    """Complete the name of a note, which is what the prompt and the template take."""
    known = ref.name == "summarize" if isinstance(ref, PromptReference) else ref.uri == "notes://note/{name}"
    if not known or argument.name != "name":
        return None
    return Completion(values=[name for name in notes if name.startswith(argument.value)])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        mcp.run(sys.argv[1], port=int(sys.argv[2]))
    else:
        mcp.run()
