"""A small notes server on FastMCP, over stdio, or over HTTP.

usage: server.py [http PORT | stateless PORT | sse PORT]
"""

import sys

import anyio
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ResourceError, ToolError
from mcp.types import Completion, PromptReference, ToolAnnotations
from pydantic import BaseModel

notes = {
    "groceries": "Milk, eggs and flour.",
    "travel": "The train leaves at nine. Pack the blue bag.",
    "ideas": "Write a shorter readme.",
}

mcp = FastMCP("notes", version="1.0.0", list_page_size=4)
read_only = ToolAnnotations(read_only_hint=True)


class Count(BaseModel):
    notes: int
    words: int


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


@mcp.tool(annotations=read_only)
async def pick_note(ctx: Context) -> str:
    """Show the note that the user picks."""
    choice = await ctx.elicit("Which note?", list(notes))
    return notes[choice.data] if choice.action == "accept" else "none picked"


@mcp.tool(annotations=ToolAnnotations(destructive_hint=False))
async def add_note(name: str, text: str, ctx: Context) -> str:
    """Add a note, or change its text."""
    notes[name] = text
    await ctx.info(f"added {name}")
    return f"added {name}"


@mcp.tool
def delete_note(name: str) -> str:
    """Delete a note by its name."""
    if name not in notes:
        raise ToolError(f"there is no note named {name}")
    del notes[name]
    return f"deleted {name}"


@mcp.resource("notes://index", mime_type="text/plain")
def index() -> str:
    """The names of all notes."""
    return "\n".join(notes)


@mcp.resource("notes://note/{name}", mime_type="text/plain")
def note(name: str) -> str:
    """The text of one note."""
    if name not in notes:
        raise ResourceError(f"there is no note named {name}")
    return notes[name]


@mcp.prompt
def summarize(name: str) -> str:
    """Ask for a summary of one note."""
    return f"Summarize this note: {notes.get(name, name)}"


@mcp.completion
def complete(ref, argument, context) -> Completion | None:
    """Complete the name of a note, which is what the prompt and the template take."""
    known = ref.name == "summarize" if isinstance(ref, PromptReference) else ref.uri == "notes://note/{name}"
    if not known or argument.name != "name":
        return None
    return Completion(values=[name for name in notes if name.startswith(argument.value)])


if __name__ == "__main__":
    way, port = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else ("stdio", None)
    if way == "stdio":
        mcp.run(show_banner=False)
    elif way == "sse":
        mcp.run("sse", port=port, show_banner=False)
    else:
        mcp.run("http", port=port, stateless_http=way == "stateless", show_banner=False)
