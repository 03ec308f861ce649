"""A small notes server on the Python SDK, over stdio."""

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel

notes = {
    "groceries": "Milk, eggs and flour.",
    "travel": "The train leaves at nine. Pack the blue bag.",
    "ideas": "Write a shorter readme.",
}

mcp = MCPServer("notes", version="1.0.0")


class Count(BaseModel):
    notes: int
    words: int


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
def search_notes(phrase: str, limit: int = 10) -> str:
    """Find the notes whose text holds a phrase."""
    found = [f"{name}: {text}" for name, text in notes.items() if phrase.lower() in text.lower()]
    return "\n".join(found[:limit]) or "nothing found"


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
def count_words() -> Count:
    """Count the words of all notes."""
    return Count(notes=len(notes), words=sum(len(text.split()) for text in notes.values()))


@mcp.tool()
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
        raise ResourceNotFoundError(f"there is no note named {name}")
    return notes[name]


@mcp.prompt()
def summarize(name: str) -> str:
    """Ask for a summary of one note."""
    return f"Summarize this note: {notes.get(name, name)}"


if __name__ == "__main__":
    mcp.run()
